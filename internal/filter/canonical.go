package filter

import (
	"strings"

	"prospector/internal/address"
	"prospector/internal/shape"
)

// canonicalForms returns the canonical form of the values of built-in fields, by key. The conditions
// is, is_not and equals compare canonical forms, so that every spelling of an address or a website is
// found. Other texts are compared exactly.
var canonicalForms = map[string]func(string) string{
	"email":         address.Key,
	"contact_email": address.Key,
	"website":       address.Website,
	"linkedin_url":  address.LinkedIn,
	"country":       func(s string) string { return shape.Fold(strings.TrimSpace(s)) },
}

// IsCanonical reports whether values of the field are compared in canonical form. Their Text is then
// that form.
func (f *Field) IsCanonical() bool { return f.canonical != nil }

// setCanonical sets the canonical form of a built-in text field.
func (f *Field) setCanonical() {
	form := canonicalForms[f.Key]
	if form == nil || f.Type != shape.TypeText {
		return
	}
	f.canonical = func(s string) string {
		if c := form(s); c != "" {
			return c
		}
		return shape.Fold(s) // a value never becomes no value
	}
}

// canonicalValue returns a value with its text in canonical form.
func (f *Field) canonicalValue(v Value) Value {
	if f.canonical != nil && v.IsSet {
		v.Text = f.canonical(v.Text)
	}
	return v
}

// canonicalOperand returns an operand in canonical form. The path of a website counts only on a shared
// host, because other websites are stored without it.
func (k *Kind) canonicalOperand(f *Field, text string) string {
	if f.Key == "website" {
		text = k.Hosts.Website(text)
	}
	return f.canonical(text)
}

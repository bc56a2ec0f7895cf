package rows

import (
	"slices"
	"testing"
)

func TestSystemID(t *testing.T) {
	for _, c := range []struct{ column, id, want string }{
		{"Record ID", "12", "hubspot:12"}, {"record id", "12", "hubspot:12"}, {"Datensatz-ID", "12", "hubspot:12"}, {"ID de registro", "12", "hubspot:12"}, {"Person - ID", "12", "pipedrive:12"},
		{"Apollo Contact Id", "60a1", "apollo:60a1"}, {"vmid", "77", "linkedin:77"}, {"ID", "12", "12"}, {"Kundennummer", "K-12", "K-12"}, {"Record ID", "pipedrive:12", "pipedrive:12"},
		{"ID", "0035g00000AbCdE", "salesforce:0035g00000AbCdEAAV"}, {"Contact ID", "0035g00000AbCdEAAV", "salesforce:0035g00000AbCdEAAV"}, {"ID", "9995g00000AbCdE", "9995g00000AbCdE"},
		{"Record ID", "0035g00000AbCdE", "hubspot:0035g00000AbCdE"}, {"ID", "a:b", "a:b"}, {"Record ID", "", ""},
	} {
		if got := SystemID(IDSystem(c.column), c.id); got != c.want {
			t.Errorf("%q in %q is %q, want %q", c.id, c.column, got, c.want)
		}
	}
	if got := OtherSpellings("hubspot:12"); !slices.Equal(got, []string{"12"}) {
		t.Errorf("%q", got)
	}
	if got := OtherSpellings("12"); !slices.Contains(got, "hubspot:12") || !slices.Contains(got, "pipedrive:12") || slices.Contains(got, "12") {
		t.Errorf("%q", got)
	}
}

// Package console is the web pages that the service shows: the one at its address, and the API document for readers. They
// are made by the binary alone: nothing in them is fetched from elsewhere.
package console

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

// Page is an HTML page and the Content-Security-Policy that it is to be shown under, which allows the style and script that
// came with the binary and nothing else.
type Page struct {
	HTML   []byte
	Policy string
}

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed unsubscribe.html
	unsubscribeText string
	//go:embed docs.html
	docsText string
	//go:embed docs.css
	docsStyle string
	//go:embed docs.js
	docsScript string
)

// assets are the parts of a page that a browser acts upon.
type assets struct {
	Style  template.CSS
	Script template.JS
	Forms  bool // it has some, which lead to where it is
}

// Home is the page at /, with the version and links; that to the metrics when they are beside it.
func Home(version string, metrics bool) (Page, error) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return Page{}, err
	}
	return render(t, assets{Style: template.CSS(pageStyle)}, struct {
		Version string
		Metrics bool
	}{version, metrics})
}

// UnsubscribeState is what the recipient of a message is to see.
type UnsubscribeState string

const (
	UnsubscribeAsks    UnsubscribeState = "asks"
	UnsubscribeDone    UnsubscribeState = "done"
	UnsubscribeUnknown UnsubscribeState = "unknown" // the link is none that the service made
	UnsubscribeFailed  UnsubscribeState = "failed"
)

// Unsubscribe is the page on which the recipient of a message opts out, or sees that it is done or why not. It tells nothing of the
// sender.
func Unsubscribe(state UnsubscribeState) (Page, error) {
	t, err := template.New("unsubscribe").Parse(unsubscribeText)
	if err != nil {
		return Page{}, err
	}
	return render(t, assets{Style: template.CSS(pageStyle), Forms: state == UnsubscribeAsks}, state)
}

func render(t *template.Template, a assets, data any) (Page, error) {
	var b bytes.Buffer
	err := t.Execute(&b, struct {
		assets
		Data any
	}{a, data})
	return Page{HTML: b.Bytes(), Policy: a.policy()}, err
}

func (a assets) policy() string {
	forms := "'none'"
	if a.Forms {
		forms = "'self'"
	}
	p := "default-src 'none'; base-uri 'none'; form-action " + forms + "; frame-ancestors 'none'; style-src " + source(string(a.Style))
	if a.Script != "" {
		p += "; script-src " + source(string(a.Script))
	}
	return p
}

// source allows one text, by its hash.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

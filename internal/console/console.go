// Package console renders the web pages of the service: the console under /app/, the API documentation at
// /docs and the unsubscribe page. The pages are self-contained: a browser loads nothing from elsewhere. The
// package does not know the operations or the data of the service; the documentation is rendered from the
// OpenAPI document alone, and the console calls the API from the browser.
package console

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

// Page is an HTML page with its Content-Security-Policy, which allows only the embedded style and script.
type Page struct {
	HTML   []byte
	Policy string
}

var (
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

// assets are the parts of a page that its policy must allow.
type assets struct {
	Style  template.CSS
	Script template.JS
	Forms  bool // the page contains a form that posts to its own address
}

// UnsubscribeState selects the content of the unsubscribe page.
type UnsubscribeState string

const (
	UnsubscribeConfirm UnsubscribeState = "confirm" // asks the recipient to confirm
	UnsubscribeDone    UnsubscribeState = "done"
	UnsubscribeInvalid UnsubscribeState = "invalid" // the link is not valid
	UnsubscribeFailed  UnsubscribeState = "failed"  // the service cannot process the request now
)

// Unsubscribe returns the page on which the recipient of a message unsubscribes, or sees the result. It
// names the organization that sent the message, if it is known, and reveals nothing else.
func Unsubscribe(state UnsubscribeState, organization string) (Page, error) {
	t, err := template.New("unsubscribe").Parse(unsubscribeText)
	if err != nil {
		return Page{}, err
	}
	return render(t, assets{Style: template.CSS(pageStyle), Forms: state == UnsubscribeConfirm}, struct {
		State        UnsubscribeState
		Organization string
	}{state, organization})
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

// source returns the policy source that allows a style or script by its hash.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

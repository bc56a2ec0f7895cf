package sequence

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/shape"
	"prospector/store"
)

// An unsubscribe token contains the ids of the organization and the message, and a signature with
// the installation's secret. No token needs to be stored, and nobody else can create one.
const (
	signedBytes = 32 // the two ids
	tokenBytes  = 48 // with the signature
)

// unsubscribed is the reason of the suppression that unsubscribing creates.
const unsubscribed = "unsubscribed"

var tokenEncoding = base64.RawURLEncoding.Strict()

// signer signs unsubscribe tokens.
type signer struct{ secret []byte }

func (s *signer) sign(data []byte) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(data)
	return mac.Sum(nil)[:tokenBytes-signedBytes]
}

// token returns the token of a message.
func (s *signer) token(org, message uuid.UUID) string {
	ids := store.PairKey(org, message)
	return tokenEncoding.EncodeToString(append(ids, s.sign(ids)...))
}

// open returns what a token contains. ok is false if the token is not valid.
func (s *signer) open(token string) (org, message uuid.UUID, ok bool) {
	raw, err := tokenEncoding.DecodeString(token)
	if err != nil || len(raw) != tokenBytes || !hmac.Equal(raw[signedBytes:], s.sign(raw[:signedBytes])) {
		return uuid.Nil, uuid.Nil, false
	}
	return uuid.UUID(raw[:16]), uuid.UUID(raw[16:signedBytes]), true
}

// linkPath is the path of unsubscribe links. hiddenToken stands for the token in everything that is
// stored or shown: whoever has the link can opt out its recipient.
const (
	linkPath    = "/u/"
	hiddenToken = "[hidden]"
)

// UnsubscribeLink returns the link with which the recipient of a message unsubscribes.
func (e *Engine) UnsubscribeLink(org, message uuid.UUID) string {
	return strings.TrimSuffix(e.HiddenLink(), hiddenToken) + e.unsubscribing.token(org, message)
}

// HiddenLink returns what stands for an unsubscribe link in what is stored and shown.
func (e *Engine) HiddenLink() string {
	return strings.TrimSuffix(e.Options.PublicURL(), "/") + linkPath + hiddenToken
}

// revealLink returns a stored text of a message with its unsubscribe link.
func (e *Engine) revealLink(text string, org, message uuid.UUID) string {
	return strings.ReplaceAll(text, linkPath+hiddenToken, linkPath+e.unsubscribing.token(org, message))
}

// hideToken hides the token of an unsubscribe link in a text, such as an answer that quotes the email.
func hideToken(text, link string) string {
	_, token, _ := strings.Cut(link, linkPath)
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, hiddenToken)
}

// hiddenHeaders returns the headers of an email with its unsubscribe link hidden.
func (e *Engine) hiddenHeaders(m *mail.Message) Headers {
	shown := *m
	shown.Unsubscribe = e.HiddenLink()
	return shown.Headers()
}

// linkInJSON matches the unsubscribe link in the headers of a stored message.
var linkInJSON = regexp.MustCompile(linkPath + `[A-Za-z0-9_-]{64}`)

// hidingLinks returns the shape of messages. Versions that did not hide links stored them in the
// headers. With this shape such a message never shows its link, and is rewritten without it.
func hidingLinks() store.Shape {
	s := shape.Of[Message]()
	return store.Shape{
		Fingerprint: s.Fingerprint() + " with hidden links",
		SetDefaults: func(public []byte) ([]byte, error) {
			if at := bytes.LastIndex(public, []byte(`"headers":{`)); at >= 0 && linkInJSON.Match(public[at:]) {
				hidden := linkInJSON.ReplaceAll(public[at:], []byte(linkPath+hiddenToken))
				public = append(slices.Clip(public[:at]), hidden...)
			}
			return s.SetDefaults(public)
		},
	}
}

// Unsubscription is what the recipient of a message sees on the unsubscribe page.
type Unsubscription struct {
	Organization string
	Done         bool
}

// Unsubscription returns whether the recipient of a token's message has unsubscribed: both the
// contact, if it still exists and can be read, and the address. An invalid token fails with not_found.
func (e *Engine) Unsubscription(token string) (u Unsubscription, err error) {
	org, message, ok := e.unsubscribing.open(token)
	if !ok {
		return u, fault.ErrNotFound
	}
	err = e.store.View(org, func(tx *store.Tx) error {
		m, err := e.messages.Get(tx, message)
		if err != nil {
			return err
		}
		_, optedOut, found, err := e.crm.Recipients(tx).Reach(m.Record.ContactID)
		u.Done = (optedOut || !found) && e.outreach.Refusal(tx, m.Record.To, false) != ""
		if err != nil && !store.IsDamagedRecord(err) {
			return err
		}
		o, err := e.identity.Organizations.Get(tx, org)
		u.Organization = o.Record.Name
		return err
	})
	return u, err
}

// Unsubscribe opts out the recipient of a token's message: both the contact, if it still exists and
// can be read, and the address. It is idempotent. An invalid token fails with not_found.
func (e *Engine) Unsubscribe(ctx context.Context, token string, actor store.Actor) error {
	org, message, ok := e.unsubscribing.open(token)
	if !ok {
		return fault.ErrNotFound
	}
	return e.store.Update(ctx, org, actor, func(tx *store.Tx) error {
		m, err := e.messages.Get(tx, message)
		if err != nil {
			return err
		}
		doc, err := e.crm.Contacts.Get(tx, m.Record.ContactID)
		if err != nil && !isGone(err) {
			return err
		}
		if err == nil {
			rec := doc.Record
			rec.DoNotContact = true
			if _, err := e.crm.Contacts.Replace(tx, doc, rec); err != nil {
				return err
			}
		}
		return e.crm.SuppressEmail(tx, m.Record.To, unsubscribed)
	})
}

// readSecret reads the secret that signs unsubscribe tokens. On the first start it generates one.
func (e *Engine) readSecret(ctx context.Context) error {
	return e.store.Update(ctx, uuid.Nil, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		stored, err := e.parts.Get(tx, uuid.Nil, secretPart)
		if errors.Is(err, store.ErrDamaged) {
			e.Options.Log.Error("secret of the unsubscribe links is damaged and replaced; links in sent messages do not work any more",
				"error", err)
			err = nil
		}
		if err != nil {
			return err
		}
		secret := append([]byte(nil), stored...)
		if len(secret) == 0 {
			secret = make([]byte, 32)
			if _, err := rand.Read(secret); err != nil {
				return err
			}
			e.parts.Put(tx, uuid.Nil, secretPart, secret)
		}
		e.unsubscribing = signer{secret}
		return nil
	})
}

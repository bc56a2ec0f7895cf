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
	"sync"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/shape"
	"prospector/store"
)

// An unsubscribe token contains the ids of the organization, the message and the contact, and a signature with the key of
// the organization. The key is made of the installation's secret, unless the organization came from another installation
// and brought its own: links in emails that were sent there work here too. No token needs to be stored, and nobody else can
// create one. The contact is for messages that a restored backup does not have.
const (
	idBytes        = 16
	signatureBytes = 16
)

// linkIDs are what a token contains. Tokens of earlier versions have no contact.
type linkIDs struct{ org, message, contact uuid.UUID }

// unsubscribed is the reason of the suppression that unsubscribing creates.
const unsubscribed = "unsubscribed"

var tokenEncoding = base64.RawURLEncoding.Strict()

// signer signs unsubscribe tokens.
type signer struct {
	secret      []byte
	broughtKeys sync.Map // by organization: the key that it brought
}

// key returns the key of an organization.
func (s *signer) key(org uuid.UUID) []byte {
	if own, has := s.broughtKeys.Load(org); has {
		return own.([]byte)
	}
	return hash(s.secret, append([]byte("unsubscribe links of "), org[:]...))
}

func sign(key, data []byte) []byte { return hash(key, data)[:signatureBytes] }

func hash(key, data []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}

func (s *signer) token(ids linkIDs) string {
	signed := slices.Concat(ids.org[:], ids.message[:], ids.contact[:])
	return tokenEncoding.EncodeToString(append(signed, sign(s.key(ids.org), signed)...))
}

// open returns what a token contains. ok is false if the token is not valid.
func (s *signer) open(token string) (ids linkIDs, ok bool) {
	raw, err := tokenEncoding.DecodeString(token)
	size := len(raw) - signatureBytes
	if err != nil || size != 2*idBytes && size != 3*idBytes {
		return ids, false
	}
	ids.org, ids.message = uuid.UUID(raw[:idBytes]), uuid.UUID(raw[idBytes:2*idBytes])
	copy(ids.contact[:], raw[2*idBytes:size])
	// Earlier versions signed with the secret itself.
	return ids, hmac.Equal(raw[size:], sign(s.key(ids.org), raw[:size])) || hmac.Equal(raw[size:], sign(s.secret, raw[:size]))
}

// linkPath is the path of unsubscribe links. hiddenToken stands for the token in everything that is
// stored or shown: whoever has the link can opt out its recipient.
const (
	linkPath    = "/u/"
	hiddenToken = "[hidden]"
)

// UnsubscribeLink returns the link with which the recipient of a message unsubscribes.
func (e *Engine) UnsubscribeLink(org, message, contact uuid.UUID) string {
	return strings.TrimSuffix(e.HiddenLink(), hiddenToken) + e.unsubscribing.token(linkIDs{org, message, contact})
}

// HiddenLink returns what stands for an unsubscribe link in what is stored and shown.
func (e *Engine) HiddenLink() string {
	return strings.TrimSuffix(e.Options.PublicURL(), "/") + linkPath + hiddenToken
}

// revealLink returns a stored text of a message with its unsubscribe link.
func (e *Engine) revealLink(text string, org, message, contact uuid.UUID) string {
	return strings.ReplaceAll(text, linkPath+hiddenToken, linkPath+e.unsubscribing.token(linkIDs{org, message, contact}))
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
	ids, ok := e.unsubscribing.open(token)
	if !ok {
		return u, fault.ErrNotFound
	}
	err = e.store.View(ids.org, func(tx *store.Tx) error {
		contact, address, err := e.recipientOf(tx, ids)
		if err != nil {
			return err
		}
		to, found, err := e.crm.Recipients(tx).Reach(contact)
		u.Done = (to.OptedOut || !found) && e.outreach.Refusal(tx, crm.Reach{Email: address}) != ""
		if err != nil && !store.IsDamagedRecord(err) {
			return err
		}
		o, err := e.identity.Organizations.Get(tx, ids.org)
		u.Organization = o.Record.Name
		return err
	})
	return u, err
}

// recipientOf returns the contact and the address that the message of a link was sent to. If the store does not have the
// message, because it was sent after the backup that was restored, they are those of the contact, or of the one that it was
// merged into.
func (e *Engine) recipientOf(tx *store.Tx, ids linkIDs) (contact uuid.UUID, address string, err error) {
	m, err := e.messages.Get(tx, ids.message)
	if err == nil || ids.contact == uuid.Nil || !isUnreadable(err) {
		return m.Record.ContactID, m.Record.To, err
	}
	if contact, _, err = e.crm.Contacts.Survivor(tx, ids.contact); err != nil {
		return contact, "", err
	}
	doc, err := e.crm.Contacts.Get(tx, contact)
	if fault.CodeOf(err) == fault.NotFound {
		doc.Record, err = e.crm.Contacts.GetTrashed(tx, contact)
	}
	return contact, string(doc.Record.Email), err
}

// Unsubscribe opts out the recipient of a token's message: both the contact, if it still exists or is in the trash, and
// can be read, and the address. It is idempotent. An invalid token fails with not_found.
func (e *Engine) Unsubscribe(ctx context.Context, token string, actor store.Actor) error {
	ids, ok := e.unsubscribing.open(token)
	if !ok {
		return fault.ErrNotFound
	}
	return e.store.Update(ctx, ids.org, actor, func(tx *store.Tx) error {
		contact, address, err := e.recipientOf(tx, ids)
		if err != nil {
			return err
		}
		if err := e.crm.OptOut(tx, contact); err != nil && !isUnreadable(err) {
			return err
		}
		if address == "" { // of a contact without one
			return nil
		}
		return e.crm.SuppressEmail(tx, address, unsubscribed)
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
			_, _ = rand.Read(secret) // it never fails
			e.parts.Put(tx, uuid.Nil, secretPart, secret)
		}
		e.unsubscribing.secret = secret
		return nil
	})
}

// LinkKey returns the key that signs the unsubscribe links of an organization.
func (e *Engine) LinkKey(org uuid.UUID) []byte { return e.unsubscribing.key(org) }

// SetLinkKey stores the key that signed the unsubscribe links of the transaction's organization in another installation.
func (e *Engine) SetLinkKey(tx *store.Tx, key []byte) { e.parts.Put(tx, tx.Org(), linkKeyPart, key) }

// readLinkKey reads the key that an organization brought.
func (e *Engine) readLinkKey(_ context.Context, org uuid.UUID) error {
	return e.store.View(org, func(tx *store.Tx) error {
		if key := e.parts.Readable(tx, org, linkKeyPart); len(key) > 0 {
			e.unsubscribing.broughtKeys.Store(org, slices.Clone(key))
		}
		return nil
	})
}

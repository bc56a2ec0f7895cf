package outreach

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// A token of a link to unsubscribe names the organization and the message, and is signed with the installation's secret: nothing needs
// to be kept for it, and nobody can make one up.
const (
	tokenBytes   = 48
	signedBytes  = 32 // the organization and the message
	unsubscribed = "unsubscribed"
)

var tokenEncoding = base64.RawURLEncoding.Strict()

// unsubscribeLink is where the recipient of a message opts out.
func (o *Outreach) unsubscribeLink(org, message uuid.UUID) string {
	named := store.PairKey(org, message)
	return strings.TrimSuffix(o.PublicURL, "/") + "/u/" + tokenEncoding.EncodeToString(append(named, o.sign(named)...))
}

func (o *Outreach) sign(named []byte) []byte {
	mac := hmac.New(sha256.New, o.secret)
	mac.Write(named)
	return mac.Sum(nil)[:tokenBytes-signedBytes]
}

// readToken gives what a token names.
func (o *Outreach) readToken(token string) (org, message uuid.UUID, ok bool) {
	raw, err := tokenEncoding.DecodeString(token)
	if err != nil || len(raw) != tokenBytes || !hmac.Equal(raw[signedBytes:], o.sign(raw[:signedBytes])) {
		return uuid.Nil, uuid.Nil, false
	}
	return uuid.UUID(raw[:16]), uuid.UUID(raw[16:signedBytes]), true
}

// IsUnsubscribed tells whether the recipient of the message that a token names is opted out: the contact, if it is still there, and the
// address. A token of no message is not_found.
func (o *Outreach) IsUnsubscribed(token string) (done bool, err error) {
	org, message, ok := o.readToken(token)
	if !ok {
		return false, fault.ErrNotFound
	}
	err = o.store.View(org, func(tx *store.Tx) error {
		m, err := o.messages.Get(tx, message)
		if err != nil {
			return err
		}
		_, optedOut, found, err := o.crm.Recipients(tx).Reach(m.Record.ContactID)
		done = (optedOut || !found) && o.refusal(tx, m.Record.To, false) != ""
		return err
	})
	return done, err
}

// Unsubscribe opts the recipient of the message that a token names out: the contact, if it is still there, and the address. Done again
// it changes nothing. A token of no message is not_found.
func (o *Outreach) Unsubscribe(ctx context.Context, token string, actor store.Actor) error {
	org, message, ok := o.readToken(token)
	if !ok {
		return fault.ErrNotFound
	}
	return o.store.Update(ctx, org, actor, func(tx *store.Tx) error {
		m, err := o.messages.Get(tx, message)
		if err != nil {
			return err
		}
		doc, err := o.crm.Contacts.Get(tx, m.Record.ContactID)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err == nil {
			rec := doc.Record
			rec.DoNotContact = true
			if _, err := o.crm.Contacts.Replace(tx, doc, rec); err != nil {
				return err
			}
		}
		return o.crm.SuppressEmail(tx, m.Record.To, unsubscribed)
	})
}

// readSecret reads the installation's secret, and makes one when there is none.
func (o *Outreach) readSecret(ctx context.Context) error {
	return o.store.Update(ctx, uuid.Nil, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		kept, err := o.kept.Get(tx, uuid.Nil, secretPart)
		if err != nil {
			return err
		}
		if o.secret = append([]byte(nil), kept...); len(o.secret) == 0 {
			o.secret = make([]byte, 32)
			if _, err := rand.Read(o.secret); err != nil {
				return err
			}
			o.kept.Put(tx, uuid.Nil, secretPart, o.secret)
		}
		return nil
	})
}

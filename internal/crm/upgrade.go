package crm

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/shape"
	"prospector/store"
)

// Upgrade brings suppressions of earlier versions up to date, once for a store. It must run before anything
// is sent.
func (c *CRM) Upgrade(ctx context.Context, st *store.Store) error {
	err := store.UpgradeEach(ctx, st, "opt-outs", c.optedOut, func(tx *store.Tx, email string) error {
		return c.SuppressEmail(tx, email, ReasonOptedOut)
	})
	if err != nil {
		return err
	}
	return store.UpgradeEach(ctx, st, "suppressed-domains", c.wildcards, c.suppressDomain)
}

// wildcards returns the suppressions of addresses such as *@acme.example, which earlier versions stored as
// they were given.
func (c *CRM) wildcards(tx *store.Tx) (ids []uuid.UUID, err error) {
	err = c.Suppressions.Table.Range(tx, bySubject, nil, func(subject []byte, id uuid.UUID) bool {
		if _, is := address.CutWildcard(string(subject)); is {
			ids = append(ids, id)
		}
		return true
	})
	return ids, err
}

// suppressDomain turns a suppression of *@acme.example into one of the domain. Two kinds of them stay: that
// of a contact with such an address who has opted out, and one of a public suffix, which would suppress
// far more than anybody meant.
func (c *CRM) suppressDomain(tx *store.Tx, id uuid.UUID) error {
	doc, err := c.Suppressions.Get(tx, id)
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	if err != nil || doc.Record.Reason == ReasonOptedOut {
		return err
	}
	rec := doc.Record
	name, isWildcard := address.CutWildcard(string(cmp.Or(rec.Email, rec.Domain)))
	host, _, err := address.SplitWebsite(name)
	if !isWildcard || err != nil || address.IsPublicSuffix(host) {
		return nil
	}
	rec.Email, rec.Domain = "", shape.Text(host)
	_, err = c.Suppressions.Replace(tx, doc, rec)
	return err
}

// UpgradeRestored upgrades a suppression that was restored from a backup, which may be one of an earlier version.
func (c *CRM) UpgradeRestored(tx *store.Tx, id uuid.UUID) error { return c.suppressDomain(tx, id) }

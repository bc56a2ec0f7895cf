package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"prospector/internal/shape"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	// secretOverlap is how long a replaced secret still signs deliveries.
	secretOverlap = 24 * time.Hour
	// maxSecrets bounds the number of signatures when a secret is rotated often within a day.
	maxSecrets = 50
)

// secrets are the signing secrets of a subscription, newest first.
type secrets []secret

type secret struct {
	Key     []byte     `json:"key"`
	Expires shape.Time `json:"expires"` // zero for the newest
}

// renew adds a new secret and returns it in the form that is shown to its owner.
func (s *secrets) renew(now time.Time) string {
	kept := secrets{{Key: make([]byte, secretBytes)}}
	_, _ = rand.Read(kept[0].Key) // never fails
	for _, old := range s.valid(now) {
		if !old.Expires.Valid() {
			old.Expires = shape.At(now.Add(secretOverlap))
		}
		kept = append(kept, old)
	}
	*s = kept[:min(len(kept), maxSecrets)]
	return secretPrefix + base64.StdEncoding.EncodeToString(kept[0].Key)
}

// valid returns the secrets that have not expired.
func (s secrets) valid(now time.Time) secrets {
	var valid secrets
	for _, one := range s {
		if !one.Expires.Valid() || now.Before(one.Expires.Std()) {
			valid = append(valid, one)
		}
	}
	return valid
}

// sign returns the value of the Webhook-Signature header (Standard Webhooks): one signature per
// secret.
func (s secrets) sign(id string, at time.Time, body []byte) string {
	head := id + "." + strconv.FormatInt(at.Unix(), 10) + "."
	signatures := make([]string, len(s))
	for i, one := range s {
		mac := hmac.New(sha256.New, one.Key)
		mac.Write([]byte(head))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}

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
	// secretOverlap is how long deliveries are signed with a secret after another has taken its place.
	secretOverlap = 24 * time.Hour
	// secretsMost bounds how many are signed with, however often a secret is renewed in a day.
	secretsMost = 50
)

// secrets are what deliveries are signed with, the newest first.
type secrets []secret

type secret struct {
	Key     []byte     `json:"key"`
	Expires shape.Time `json:"expires"` // none for the newest
}

// renew puts a new secret first, and gives it as its owner is to keep it.
func (s *secrets) renew(now time.Time) string {
	kept := secrets{{Key: make([]byte, secretBytes)}}
	_, _ = rand.Read(kept[0].Key) // which never fails
	for _, old := range s.valid(now) {
		if !old.Expires.Valid() {
			old.Expires = shape.At(now.Add(secretOverlap))
		}
		kept = append(kept, old)
	}
	*s = kept[:min(len(kept), secretsMost)]
	return secretPrefix + base64.StdEncoding.EncodeToString(kept[0].Key)
}

// valid are those that have not expired.
func (s secrets) valid(now time.Time) secrets {
	var valid secrets
	for _, one := range s {
		if !one.Expires.Valid() || now.Before(one.Expires.Std()) {
			valid = append(valid, one)
		}
	}
	return valid
}

// sign gives the signatures of a message, as the header of Standard Webhooks has them.
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

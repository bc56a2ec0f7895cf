package webhook

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// The example of the Standard Webhooks libraries.
func TestSignStandardExample(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := secrets{{Key: key}}.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999_999_999), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
}

func TestRenewSecrets(t *testing.T) {
	var s secrets
	var shown []string
	now := monday
	renew := func() {
		shown = append(shown, s.renew(now))
	}
	// valid returns which of the returned secrets sign deliveries, newest first.
	valid := func() (which []int) {
		for _, one := range s.valid(now) {
			for i, text := range shown {
				if text == secretPrefix+base64.StdEncoding.EncodeToString(one.Key) {
					which = append(which, i)
				}
			}
		}
		return which
	}
	want := func(which ...int) {
		t.Helper()
		got := valid()
		if len(got) != len(which) || len(strings.Fields(s.valid(now).sign("id", now, nil))) != len(which) {
			t.Fatalf("signed with %v, want %v", got, which)
		}
		for i := range got {
			if got[i] != which[i] {
				t.Fatalf("signed with %v, want %v", got, which)
			}
		}
	}
	renew()
	now = now.Add(1000 * time.Hour)
	want(0) // the newest does not expire
	renew()
	want(1, 0)
	now = now.Add(23 * time.Hour)
	renew()
	want(2, 1, 0)
	now = now.Add(time.Hour - time.Millisecond)
	want(2, 1, 0)
	now = now.Add(time.Millisecond)
	want(2, 1)
	now = now.Add(23 * time.Hour)
	want(2)
	if len(s) != 3 {
		t.Errorf("%d secrets before the next renewal", len(s))
	}
	renew()
	want(3, 2)
	if len(s) != 2 {
		t.Errorf("%d secrets, want only the valid ones", len(s))
	}
	for range 60 {
		renew()
	}
	var newest []int
	for n := 63; len(newest) < maxSecrets; n-- {
		newest = append(newest, n)
	}
	want(newest...)
	seen := map[string]bool{}
	for _, text := range shown {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || len(key) != 32 || bytes.Equal(key, make([]byte, 32)) || seen[text] || !strings.HasPrefix(text, "whsec_") {
			t.Errorf("invalid secret %q: %v", text, err)
		}
		seen[text] = true
	}
}

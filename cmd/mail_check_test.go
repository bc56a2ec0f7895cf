package cmd_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// checkPlace is a place whose settings name a mail server.
func checkPlace(t *testing.T, env ...string) (*place, *apptest.MailServer) {
	t.Helper()
	server := apptest.NewMailServer(t)
	_, port, _ := strings.Cut(server.Addr.String(), ":")
	return newPlace(t, append([]string{
		"PROSPECTOR_MAIL_TRANSPORT=smtp", "PROSPECTOR_MAIL_SMTP_HOST=127.0.0.1", "PROSPECTOR_MAIL_SMTP_PORT=" + port, "PROSPECTOR_MAIL_SMTP_TLS=none",
	}, env...)...), server
}

// TestMailCheck checks that mail check reports each stage, with the server of the service running or
// not.
func TestMailCheck(t *testing.T) {
	t.Parallel()
	const password = "hush-Correct-Horse"
	p, server := checkPlace(t, "PROSPECTOR_MAIL_SMTP_USERNAME=ada@acme.example", "PROSPECTOR_MAIL_SMTP_PASSWORD="+password)
	server.Login("ada@acme.example", password)
	p.org("Acme")
	const connected = `connect +ok\ngreeting +ok\nEHLO +ok\nlogin +ok\n`
	p.run("mail", "check").says(connected)
	p.run("mail", "check", "--to", "bill@initech.example").says(connected + `message +ok .*\n`)
	mails := server.Mails()
	if len(mails) != 1 || mails[0].From != "ada@acme.example" || mails[0].To[0] != "bill@initech.example" {
		t.Errorf("the server accepted %+v", mails)
	}
	p.run("mail", "check", "--to", "bill").fails(1, `"bill" is not an email address`)

	server.Reply(func(stage, _ string) string { return map[string]string{apptest.MailContent: "554 5.7.1 spam"}[stage] })
	refused := p.run("mail", "check", "--to", "bill@initech.example")
	if refused.status != 1 || !strings.Contains(refused.stdout, "554 5.7.1 spam") || !strings.Contains(refused.stderr, "the mail server cannot be used") {
		t.Errorf("a refused message: %d %s%s", refused.status, refused.stdout, refused.stderr)
	}
	server.Reply(nil)
	server.Login("ada@acme.example", "another")
	s := p.serve()
	refused = p.run("mail", "check")
	if refused.status != 1 || !strings.Contains(refused.stdout, "535 5.7.8") || strings.Contains(refused.stdout+refused.stderr, password) {
		t.Errorf("a refused login: %d %s%s", refused.status, refused.stdout, refused.stderr)
	}
	s.stop()

	outbox := newPlace(t)
	outbox.org("Acme")
	outbox.run("mail", "check").says(`transport +ok +mail.transport is outbox: .*\n`)
	outbox.run("mail", "check", "--json").prints(`{"stages": [{"stage": "transport", "ok": true, "detail": "<any>"}]}`)
}

package service

import (
	"errors"
	"log/slog"
	"net"
	"net/url"

	"prospector/internal/mail"
)

// smtpConnections is how many connections to the mail server there may be.
const smtpConnections = 8

// smtp is the mail server that messages go to; nil when they stay in the outbox.
func (c *Config) smtp() *mail.SMTP {
	if c.Mail.Transport != "smtp" {
		return nil
	}
	s := c.Mail.SMTP
	hello := ""
	if u, err := url.Parse(c.PublicURL); err == nil {
		hello = u.Hostname()
	}
	return mail.NewSMTP(mail.Options{
		Host: s.Host, Port: s.Port, Username: s.Username, Password: string(s.Password), TLS: s.TLS, Connections: smtpConnections, LocalName: hello,
	})
}

// checkMail refuses to send messages whose links to unsubscribe would lead nowhere, or could be read on the way.
func (c *Config) checkMail() error {
	if c.Mail.Transport != "smtp" || mail.IsLoopback(c.Mail.SMTP.Host) {
		return nil
	}
	if u, err := url.Parse(c.PublicURL); err != nil || u.Scheme != "https" {
		return errors.New("settings: public_url must be the https URL of this service when mail.transport is smtp: messages have links to unsubscribe under it")
	}
	return nil
}

// linkBase is the base of links in messages when no public_url is set: the address that is served, or this machine when all of its
// addresses are, which no link can say.
func linkBase(served string) string {
	u, err := url.Parse(served)
	if err != nil {
		return served
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String()
}

// warnOfLinks tells that the links to unsubscribe in messages that really leave lead to this machine alone.
func (c *Config) warnOfLinks(log *slog.Logger, base string) {
	if c.Mail.Transport == "smtp" {
		log.Warn("public_url is not set: the links to unsubscribe in messages work on this machine or its network alone", "links", base)
	}
}

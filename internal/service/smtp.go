package service

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"prospector/internal/mail"
)

// smtpConnections limits the number of connections to the mail server.
const smtpConnections = 8

// smtp returns the mail server, or nil if messages stay in the outbox.
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

// checkMail refuses to send messages whose unsubscribe links would not work or would not be encrypted.
func (c *Config) checkMail() error {
	if c.Mail.Transport != "smtp" || mail.IsLoopback(c.Mail.SMTP.Host) {
		return nil
	}
	if u, err := url.Parse(c.PublicURL); err != nil || u.Scheme != "https" {
		return errors.New("settings: public_url must be the https URL of this service when mail.transport is smtp, because emails contain unsubscribe links below it")
	}
	return nil
}

// linkBase returns the base of links in messages if public_url is not set. It is the served URL, with
// localhost in place of an unspecified address.
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

// browserBase returns the address at which browsers reach the service, without a slash at its end. A
// service that does not listen assumes that it will at addr.
func (s *Service) browserBase() string {
	scheme := "http://"
	if s.Config.TLS.CertFile != "" {
		scheme = "https://"
	}
	return strings.TrimSuffix(cmp.Or(s.LinkBase, linkBase(scheme+s.Config.Addr)), "/")
}

// warnOfLinks warns that the unsubscribe links of messages sent by SMTP work on this machine only.
func (c *Config) warnOfLinks(log *slog.Logger, base string) {
	if c.Mail.Transport == "smtp" {
		log.Warn("public_url is not set: unsubscribe links in emails work only on this machine or its network", "links", base)
	}
}

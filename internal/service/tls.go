package service

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// lookAgain is how long a certificate is shown before its files are looked at again.
const lookAgain = 2 * time.Second

// certificate is what the server shows to those who connect. A renewed one is taken from its files without a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	pair    pemPair   // what current was made of
	looked  time.Time // when the files were looked at for somebody who connected
	trouble string    // why what the files have now was not taken
}

// pemPair is what the two files have in them.
type pemPair struct{ cert, key []byte }

// loadCertificate gives the certificate that the settings name, or none when they name none. Its errors name the setting.
func loadCertificate(cfg Config, log *slog.Logger) (*certificate, error) {
	if cfg.TLS.CertFile == "" {
		return nil, nil
	}
	c := &certificate{certFile: cfg.TLS.CertFile, keyFile: cfg.TLS.KeyFile, log: log}
	_, err := c.read()
	return c, err
}

// listen makes connections secure. HTTP/2 is offered.
func (c *certificate) listen(ln net.Listener) net.Listener {
	return tls.NewListener(ln, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.show,
	})
}

func (c *certificate) show(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookAgain {
		c.looked = now
		c.renew()
	}
	return c.current, nil
}

// renew takes what the files have now. When that is nothing to show it says so once, and goes on with what it has: the
// two files are not replaced at the same moment.
func (c *certificate) renew() {
	changed, err := c.read()
	switch {
	case err == nil && changed:
		c.trouble = ""
		c.log.Info("certificate renewed", "expires", c.current.Leaf.NotAfter)
	case err == nil:
		c.trouble = ""
	case c.trouble != err.Error():
		c.trouble = err.Error()
		c.log.Error("the certificate cannot be renewed; the one before goes on being shown", "error", err)
	}
}

// read makes current what the files have, unless it is that already.
func (c *certificate) read() (changed bool, err error) {
	var pair pemPair
	if pair.cert, err = os.ReadFile(c.certFile); err != nil {
		return false, fmt.Errorf("tls.cert_file: %w", err)
	}
	if pair.key, err = os.ReadFile(c.keyFile); err != nil {
		return false, fmt.Errorf("tls.key_file: %w", err)
	}
	if bytes.Equal(pair.cert, c.pair.cert) && bytes.Equal(pair.key, c.pair.key) && c.current != nil {
		return false, nil
	}
	made, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return false, fmt.Errorf("tls.cert_file %s with tls.key_file %s: %w", c.certFile, c.keyFile, err)
	}
	if now := time.Now(); now.After(made.Leaf.NotAfter) || now.Before(made.Leaf.NotBefore) {
		c.log.Warn("the certificate of tls.cert_file is not valid now, and clients will refuse it",
			"file", c.certFile, "valid_from", made.Leaf.NotBefore, "expires", made.Leaf.NotAfter)
	}
	c.current, c.pair = &made, pair
	return true, nil
}

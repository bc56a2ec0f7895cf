package handlers

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/store"
)

// consoleHeader marks the requests of the console. A page of another site cannot send it.
const consoleHeader = "X-Prospector-Console"

// userHeader names the user for whom the console was loaded. The cookie of a browser may be another user's by now.
const userHeader = "X-Prospector-User"

// admit authenticates the caller, counts the request against the rate limit and waits until it may be in
// progress.
func (c *call) admit(h http.Header) (err error) {
	if c.principal, err = c.authenticate(); err != nil {
		return err
	}
	p, counted, limit := &c.principal, c.principal.Org, c.api.RatePerMinute
	switch {
	case p.Session != uuid.Nil:
		counted, limit = p.User, sessionRate
	case p.RateLimit.Valid:
		limit = int(p.RateLimit.Float)
	}
	if err := c.api.rateLimiter.allow(counted, limit, c.api.Store.Now(), h); err != nil {
		return err
	}
	err = c.api.concurrency.enter(c.request.Context(), p.Org)
	c.admitted = err == nil
	return err
}

// authenticate returns the principal of the request's API key or, if it has none, of its session.
func (c *call) authenticate() (p identity.Principal, err error) {
	defer func() {
		if errors.Is(err, store.ErrDamaged) { // who has not been admitted learns no ids
			c.api.Log.Error("cannot authenticate a request", "request_id", c.requestID, "error", err)
			err = fault.New(fault.Damaged, "the record of the credential, its user or the organization is damaged; ask the operator to recover it from a backup")
		}
	}()
	cookie, err := c.request.Cookie(sessionCookieName(c.isSecure()))
	key := apiKey(c.request)
	if err != nil || key != "" || c.request.Header.Get("Authorization") != "" {
		return c.api.Identity.Authenticate(key)
	}
	if err := c.api.checkSameSite(c.request); err != nil {
		return identity.Principal{}, err
	}
	p, err = c.api.Identity.AuthenticateSession(cookie.Value)
	if user := c.request.Header.Get(userHeader); err == nil && user != "" && user != p.User.String() {
		return identity.Principal{}, fault.New(fault.Unauthorized, "the session belongs to another user than the header %s names", userHeader)
	}
	return p, err
}

// isPublic reports whether a request under /v1 requires no credential.
func (a *API) isPublic(r *http.Request) bool {
	for i := range a.operations { // by index, because an Operation is large
		if o := &a.operations[i]; o.Access == Public && o.Method == r.Method && o.Path == r.URL.Path {
			return true
		}
	}
	return false
}

// checkSameSite refuses a request with a session cookie that a page of another site may have made.
func (a *API) checkSameSite(r *http.Request) error {
	if r.Header.Get(consoleHeader) != "1" {
		return fault.New(fault.Forbidden, "a request with a session cookie must have the header %s: 1", consoleHeader)
	}
	if isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; isRead && r.Header.Get("Origin") == "" {
		return nil
	}
	return a.checkOrigin(r)
}

// checkOrigin refuses a request without an Origin of this server.
func (a *API) checkOrigin(r *http.Request) error {
	origin, err := url.Parse(r.Header.Get("Origin"))
	ownHost := err == nil && origin.Host != "" && (strings.EqualFold(origin.Host, r.Host) || strings.EqualFold(origin.Host, a.publicHost()))
	if ownHost && (origin.Scheme == "https" || origin.Scheme == "http" && !a.isHTTPS()) {
		return nil
	}
	return fault.New(fault.Forbidden, "the request must have an Origin of this server")
}

func (a *API) publicHost() string {
	u, err := url.Parse(a.LinkBase())
	if err != nil {
		return ""
	}
	return u.Host
}

// isHTTPS reports whether browsers reach the service over https.
func (a *API) isHTTPS() bool { return strings.HasPrefix(a.LinkBase(), "https://") }

// isSecure reports whether the client of the call is a browser under https, if it is a browser.
func (c *call) isSecure() bool { return c.request.TLS != nil || c.api.isHTTPS() }

// client returns the address of the client of a request: that of the connection or, behind a trusted
// proxy, what the proxy says. Of an IPv6 address it returns the network, which one client has alone.
func (a *API) client(r *http.Request) string {
	addr := hostOf(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !a.isTrusted(addr) {
			break
		}
		addr = next.Unmap()
	}
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.String()
		}
	}
	return addr.String()
}

func hostOf(remote string) netip.Addr {
	host, _, _ := net.SplitHostPort(remote)
	addr, _ := netip.ParseAddr(host) // the zero value, which no proxy has, if there is none
	return addr.Unmap().WithZone("")
}

func (a *API) isTrusted(addr netip.Addr) bool {
	return slices.ContainsFunc(a.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

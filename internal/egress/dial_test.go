package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"prospector/internal/egress/dnstest"
)

// canary is a server on the loopback addresses of this machine that must not be reached.
type canary struct {
	port    string
	six     bool // whether it listens on ::1 too
	reached atomic.Int64
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	four, six, err := listenBoth()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(four.Addr().String())
	c := &canary{port: port, six: six != nil}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				c.reached.Add(1)
			}
		},
	}
	t.Cleanup(func() { server.Close() })
	go server.Serve(four)
	if c.six {
		go server.Serve(six)
	}
	return c
}

// listenBoth listens on the same port of 127.0.0.1 and, if it exists, of ::1.
func listenBoth() (four, six net.Listener, err error) {
	for range 20 {
		if four, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			return nil, nil, err
		}
		_, port, _ := net.SplitHostPort(four.Addr().String())
		six, err = net.Listen("tcp6", net.JoinHostPort("::1", port))
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		four.Close()
	}
	if err != nil && errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil, err
	}
	return four, six, nil
}

// errAway replaces a connection to another machine.
var errAway = errors.New("not in a test")

// caller makes requests under a policy and connects only to loopback addresses.
type caller struct {
	dialer net.Dialer
	client http.Client

	mu      sync.Mutex
	dialed  []string // addresses that the policy allowed
	blocked []string // addresses that the policy blocked
}

func newCaller(policy Policy, r *net.Resolver) *caller {
	c := &caller{}
	c.dialer = net.Dialer{Timeout: time.Minute, Resolver: r, ControlContext: func(ctx context.Context, network, address string, raw syscall.RawConn) error {
		err := policy.Control(ctx, network, address, raw)
		to, _ := netip.ParseAddrPort(address)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.blocked = append(c.blocked, to.Addr().String())
			return err
		}
		c.dialed = append(c.dialed, to.Addr().String())
		if !to.Addr().IsLoopback() && !to.Addr().IsUnspecified() {
			return errAway
		}
		return nil
	}}
	c.client = http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: c.dialer.DialContext}}
	return c
}

// seen returns the addresses that were dialed and blocked so far.
func (c *caller) seen() (dialed, blocked []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.dialed), slices.Clone(c.blocked)
}

// get returns an error unless the canary dnstest.Answers.
func (c *caller) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// everyLoopback resolves every name to this machine.
func everyLoopback(t dnsmessage.Type, _ int) []string {
	if t == dnsmessage.TypeA {
		return []string{"127.0.0.1"}
	}
	return []string{"::1", "::ffff:127.0.0.1"}
}

func TestAddressPolicyDialsNoLoopback(t *testing.T) {
	canary := newCanary(t)
	names := dnstest.Resolver(t, everyLoopback)
	strict := newCaller(Policy{}, names)
	cases := slices.Concat(loopbacks, spellings(netip.MustParseAddr("127.0.0.1"), inside), spellings(netip.MustParseAddr("127.255.255.254"), inside),
		spellings(netip.MustParseAddr("0.0.0.0"), inside), []spelled{{"hooks.example.com", open}, {"127.0.0.1.nip.io", open}, {"intranet", open}})
	blocked := 0
	for _, c := range cases {
		err := strict.get(t.Context(), "http://"+c.host+":"+canary.port+"/")
		if err == nil {
			t.Errorf("%q: called", c.host)
		}
		if errors.Is(err, ErrBlocked) {
			blocked++
		}
		// The same for a client that extracts the host in another way.
		host := strings.Trim(strings.ReplaceAll(c.host, "%25", "%"), "[]")
		if conn, err := strict.dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, canary.port)); err == nil {
			conn.Close()
			t.Errorf("%q: dialed", host)
		}
	}
	if dialed, _ := strict.seen(); len(dialed) > 0 {
		t.Errorf("dialed %q", dialed)
	}
	if blocked < 70 {
		t.Errorf("only %d of %d spellings reached the policy", blocked, len(cases))
	}
	if n := canary.reached.Load(); n != 0 {
		t.Fatalf("the canary was reached %d times", n)
	}
	t.Logf("%d spellings, %d blocked when dialled, the others not understood", len(cases), blocked)

	// The canary can be reached. It accepts connections in order, so it has seen all earlier ones.
	lax := newCaller(Policy{AllowPrivate: true}, names)
	plain := []string{"127.0.0.1", "localhost", "０.０.０.０", "127。0。0。1", "0.0.0.0", "[::ffff:127.0.0.1]", "hooks.example.com"}
	if canary.six {
		plain = append(plain, "[::1]", "[::]", "[::1%25lo]")
	}
	for _, host := range plain {
		if err := lax.get(t.Context(), "http://"+host+":"+canary.port+"/"); err != nil {
			t.Errorf("%q, private networks allowed: %v", host, err)
		}
	}
	if n := canary.reached.Load(); n != int64(len(plain)) {
		t.Errorf("the canary was reached %d times, not %d", n, len(plain))
	}
}

func TestAddressPolicyRebinding(t *testing.T) {
	const public = "93.184.216.34"
	// only dnstest.Answers one type, the nth question with the nth list and the last one from then on.
	only := func(which dnsmessage.Type, lists ...[]string) dnstest.Answers {
		return func(t dnsmessage.Type, nth int) []string {
			if t != which {
				return nil
			}
			return lists[min(nth, len(lists)-1)]
		}
	}
	both := func(a, aaaa []string) dnstest.Answers {
		return func(t dnsmessage.Type, _ int) []string {
			if t == dnsmessage.TypeA {
				return a
			}
			return aaaa
		}
	}
	for _, c := range []struct {
		name   string
		answer dnstest.Answers
		target string // as it is dialed
		never  bool   // blocked even with private networks allowed
		six    bool   // dialed only on machines with IPv6
	}{
		{name: "public first", answer: only(dnsmessage.TypeA, []string{public}, []string{"127.0.0.1"}), target: "127.0.0.1"},
		{name: "public and loopback", answer: only(dnsmessage.TypeA, []string{public, "127.0.0.1"}), target: "127.0.0.1"},
		{name: "loopback and public", answer: only(dnsmessage.TypeA, []string{"127.0.0.1", public}), target: "127.0.0.1"},
		{name: "unspecified", answer: only(dnsmessage.TypeA, []string{public}, []string{"0.0.0.0"}), target: "0.0.0.0"},
		{name: "IPv6", answer: only(dnsmessage.TypeAAAA, []string{"2606:2800:220:1::1"}, []string{"::1"}), target: "::1", six: true},
		{name: "mapped", answer: only(dnsmessage.TypeAAAA, []string{"::ffff:" + public}, []string{"::ffff:127.0.0.1"}), target: "127.0.0.1"},
		{name: "public, IPv6 loopback", answer: both([]string{public}, []string{"::1"}), target: "::1", six: true},
		{name: "loopback, IPv6 public", answer: both([]string{"127.0.0.1"}, []string{"2606:2800:220:1::1"}), target: "127.0.0.1"},
		{name: "NAT64", answer: only(dnsmessage.TypeAAAA, []string{"64:ff9b::a9fe:a9fe"}), target: "64:ff9b::a9fe:a9fe", never: true, six: true},
		{name: "metadata", answer: only(dnsmessage.TypeA, []string{public}, []string{"169.254.169.254"}), target: "169.254.169.254", never: true},
		{name: "metadata IPv6", answer: both([]string{"168.63.129.16"}, []string{"fd00:ec2::254"}), target: "fd00:ec2::254", never: true, six: true},
		{name: "mapped metadata", answer: only(dnsmessage.TypeAAAA, []string{"::ffff:169.254.169.254"}), target: "169.254.169.254", never: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			canary := newCanary(t)
			if c.six && !canary.six {
				t.Skip("there is no IPv6 here")
			}
			url := "http://rebind.example:" + canary.port + "/"
			for _, policy := range policies {
				if wrong := policy.CheckURL("https://rebind.example/"); wrong != "" {
					t.Fatalf("CheckURL: %s", wrong)
				}
				caller := newCaller(policy, dnstest.Resolver(t, c.answer))
				wantBlocked := !policy.AllowPrivate || c.never
				reached := 0
				for range 4 {
					if caller.get(t.Context(), url) == nil {
						reached++
					}
				}
				dialed, blocked := caller.seen()
				if wantBlocked && (reached > 0 || slices.Contains(dialed, c.target)) {
					t.Errorf("%+v: dialed %q", policy, dialed)
				}
				if wantBlocked != slices.Contains(blocked, c.target) {
					t.Errorf("%+v: blocked %q", policy, blocked)
				}
				if !wantBlocked && reached == 0 {
					t.Errorf("%+v: not reached, dialed %q", policy, dialed)
				}
				if n := canary.reached.Load(); wantBlocked && n != 0 {
					t.Errorf("%+v: the canary was reached %d times", policy, n)
				}
			}
		})
	}
}

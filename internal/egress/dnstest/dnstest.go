// Package dnstest is a name server for tests, which answers as a test says.
package dnstest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Answers returns what a name resolves to in the nth query of a type, from 0.
type Answers func(t dnsmessage.Type, nth int) []string

// Resolver returns a resolver that queries a test server on loopback, which answers for every name.
func Resolver(t *testing.T, answer Answers) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { serveDNS(server, answer) })
	t.Cleanup(func() { server.Close(); done.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", server.LocalAddr().String())
	}}
}

func serveDNS(server net.PacketConn, answer Answers) {
	asked := map[dnsmessage.Type]int{}
	buffer := make([]byte, 4096)
	for {
		n, from, err := server.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
			continue
		}
		q := query.Questions[0]
		reply := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionAvailable: true},
			Questions: query.Questions,
		}
		for _, text := range answer(q.Type, asked[q.Type]) {
			addr := netip.MustParseAddr(text)
			var body dnsmessage.ResourceBody = &dnsmessage.AAAAResource{AAAA: addr.As16()}
			if q.Type == dnsmessage.TypeA {
				body = &dnsmessage.AResource{A: addr.As4()}
			}
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: body})
		}
		asked[q.Type]++
		if packed, err := reply.Pack(); err == nil {
			server.WriteTo(packed, from)
		}
	}
}

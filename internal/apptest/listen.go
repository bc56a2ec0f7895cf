package apptest

import (
	"net"
	"testing"
)

// Listen calls talk for every connection that comes to the address that it gives, and hangs up when that returns.
func Listen(t testing.TB, talk func(*net.TCPConn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn.(*net.TCPConn))
			}()
		}
	}()
	return ln.Addr().String()
}

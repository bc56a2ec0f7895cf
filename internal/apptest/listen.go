package apptest

import (
	"net"
	"testing"
)

// Listen listens on a free port of the loopback interface until the test ends, and returns its address.
// It calls talk for every connection, and closes the connection when talk returns.
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

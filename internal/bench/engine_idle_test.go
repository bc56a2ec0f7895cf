package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// idleTime is how long an idle server is observed.
const idleTime = 20 * time.Second

// BenchmarkIdle measures the memory and CPU that waiting sequences cost an idle server, and
// compares them with a server on an empty store.
func BenchmarkIdle(b *testing.B) {
	c := newCampaignBench(b, waiting, 30, "")
	dir := c.s.Config.DataDir
	if err := c.s.Close(); err != nil { // the cleanup tolerates a closed service
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "prospector")
	build := exec.Command("go", "build", "-o", program, "prospector")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		b.Fatal(err)
	}
	full, busy := idle(b, program, dir)
	empty, lazy := idle(b, program, b.TempDir())
	fmt.Printf("\n%d waiting sequences: %d MB (RssAnon), empty store: %d MB, target 50 MB more %s; CPU time in %v: %v, empty store: %v\n",
		waiting, full>>20, empty>>20, verdict(full-empty <= 50<<20), idleTime, busy, lazy)
}

// idle runs a server and returns its memory and the CPU time it uses while it has nothing to do.
func idle(b *testing.B, program, dir string) (anon int64, cpu time.Duration) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	server := exec.Command(program, "serve", "--data-dir", dir, "--addr", addr)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	await(b, func() bool { return indexesBehind(addr) == "0 0" })
	before := cpuTime(b, server.Process.Pid)
	<-time.After(idleTime) // the measured interval
	return anonOf(server.Process.Pid), cpuTime(b, server.Process.Pid) - before
}

// cpuTime returns the CPU time that a process has used. Linux reports it in hundredths of a second.
func cpuTime(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

package admin

import (
	"errors"
	"net"
	"os"
	"path/filepath"
)

// socketName is the socket in the data directory through which commands reach a running server.
const socketName = "admin.sock"

// atSocket calls use with the path of the socket. The path of a Unix socket is limited to about a
// hundred bytes. For a longer one, atSocket changes the working directory while use runs, so nothing
// else in the process may depend on it then.
func atSocket(dataDir string, use func(path string) error) error {
	path := filepath.Join(dataDir, socketName)
	if len(path) < 100 {
		return use(path)
	}
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dataDir); err != nil {
		return err
	}
	return errors.Join(use(socketName), os.Chdir(back))
}

// socket is the listener of the admin socket. Closing it removes the socket.
type socket struct {
	net.Listener
	dataDir string
}

// listen opens the socket. A socket that exists was left behind: its server no longer holds the store.
func listen(dataDir string) (net.Listener, error) {
	if err := removeSocket(dataDir); err != nil {
		return nil, err
	}
	s := socket{dataDir: dataDir}
	err := atSocket(dataDir, func(path string) error {
		unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		unix.SetUnlinkOnClose(false) // its path may be relative to another directory
		s.Listener = unix
		return os.Chmod(path, 0o600)
	})
	return s, err
}

// Close closes the listener and removes the socket.
func (s socket) Close() error { return errors.Join(s.Listener.Close(), removeSocket(s.dataDir)) }

func removeSocket(dataDir string) error {
	if err := os.Remove(filepath.Join(dataDir, socketName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

package crawler

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"curtsy/frontier/durable"
)

// ControlFile is the name of the file, in the crawl directory, that says how to reach a running crawl.
const ControlFile = "control.json"

// controlAddress is what ControlFile holds. The token keeps other users of the machine out, and is how a crawl proves to
// be the one that wrote the file: a kill leaves the file behind, and its port to whoever wants it. It is never sent.
type controlAddress struct {
	Address string `json:"address"` // of 127.0.0.1
	Token   string `json:"token"`
	PID     int    `json:"pid"`
}

// Serve answers questions about the crawl, and takes an operator's commands, on a loopback port until ctx ends, and says
// in dir how to reach it. The file is gone when Serve returns. While a crawl runs nobody else opens its frontier: this is
// how others ask.
func (c *Crawl) Serve(ctx context.Context, dir string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	secret := make([]byte, 16)
	rand.Read(secret)
	at := controlAddress{Address: listener.Addr().String(), Token: hex.EncodeToString(secret), PID: os.Getpid()}
	path := filepath.Join(dir, ControlFile)
	if err := writeControl(path, at); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer os.Remove(path)
	server := &http.Server{Handler: c.controlHandler(dir, at.Token), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if server.Shutdown(within) != nil {
			server.Close()
		}
	})
	err = server.Serve(listener)
	if !stop() {
		<-closed
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return nil
}

// lastAnswers is how long orders that are under way when the crawl ends may take: one of them may be what ended it.
const lastAnswers = 5 * time.Second

// writeControl writes the file whole or not at all, readable by its owner only.
func writeControl(path string, at controlAddress) error {
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a link is removed, not followed
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	if err := durable.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return nil
}

package crawler

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// ControlFile is the name of the file, in the crawl directory, that says how to reach a running crawl.
const ControlFile = "control.json"

// controlAddress is what ControlFile holds. The token keeps other users of the machine out.
type controlAddress struct {
	Address string `json:"address"` // of 127.0.0.1
	Token   string `json:"token"`
	PID     int    `json:"pid"`
}

// Serve answers questions about the crawl on a loopback port until ctx ends, and says in dir how to reach it. The
// file is gone when Serve returns. While a crawl runs nobody else opens its frontier: this is how others ask.
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
	server := &http.Server{Handler: c.controlHandler(at.Token), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return nil
}

// writeControl writes the file whole or not at all, readable by its owner only.
func writeControl(path string, at controlAddress) error {
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return os.Rename(tmp, path)
}

func (c *Crawl) controlHandler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		s, err := c.Status(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+token)) != 1 {
			http.Error(w, "the token of "+ControlFile+" is required", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// ErrNotRunning says that no crawl answers for a directory.
var ErrNotRunning = errors.New("crawler: no crawl is running there")

// Ask returns the status of the crawl that runs in dir, or ErrNotRunning.
func Ask(ctx context.Context, dir string) (Status, error) {
	b, err := os.ReadFile(filepath.Join(dir, ControlFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, ErrNotRunning
	}
	if err != nil {
		return Status{}, err
	}
	var at controlAddress
	if err := json.Unmarshal(b, &at); err != nil {
		return Status{}, fmt.Errorf("%w: %s is damaged: %w", ErrNotRunning, ControlFile, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.Address+"/status", nil)
	if err != nil {
		return Status{}, err
	}
	req.Header.Set("Authorization", "Bearer "+at.Token)
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	var slow net.Error
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, &slow) && slow.Timeout():
		return Status{}, fmt.Errorf("crawler: control interface: %w", err) // it runs, or somebody does not want to wait
	default:
		// Left behind by a crawl that was killed, most likely; its port may belong to somebody else by now.
		return Status{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("%w: the control interface answers %s", ErrNotRunning, resp.Status)
	}
	var s Status
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&s); err != nil {
		return Status{}, fmt.Errorf("crawler: control interface: %w", err)
	}
	return s, nil
}

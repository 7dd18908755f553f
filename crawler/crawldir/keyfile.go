package crawldir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/frontier/durable"
)

// keySize is the size of a secret in bytes.
const keySize = 32

// KeyFile is a secret of the user, kept beside the configuration.
type KeyFile struct {
	Name string // of the file
	what string // for errors: what it is the key of
	lost string // what to do when there is no copy of a damaged one
}

// The secrets of a user.
var (
	OwnKey    = KeyFile{"own.key", "key of own hosts", "remove it and give each host its new value"}
	LedgerKey = KeyFile{"ledger.key", "key of ledgers", "remove it, and the next checkpoints are signed by a new one"}
	BotKey    = KeyFile{"webbotauth.key", "key of Web Bot Auth",
		"remove it, and publish the new one that curtsy identity keygen makes"}
)

// Path is where the key is.
func (k KeyFile) Path() (string, error) {
	config, err := UserConfig()
	return filepath.Join(filepath.Dir(config), k.Name), err
}

// Read returns the key in a file.
func (k KeyFile) Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s: %s is damaged: put its copy back, or %s", k.what, path, k.lost)
	}
	return key, nil
}

// Make returns the key, and makes it if there is none. Of two that make it at one time, one wins and both return it.
func (k KeyFile) Make(path string) ([]byte, error) {
	key, err := k.Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	key = make([]byte, keySize)
	rand.Read(key)
	err = durable.New(path, func(w io.Writer) error { _, err := io.WriteString(w, hex.EncodeToString(key)+"\n"); return err })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	return k.Read(path)
}

package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keySize is the size of a secret in octets.
const keySize = 32

// keyFile is a secret of the user, kept beside the configuration.
type keyFile struct {
	name string // of the file
	what string // for errors: what it is the key of
	lost string // what to do when there is no copy of a damaged one
}

var (
	ownKey    = keyFile{"own.key", "key of own hosts", "remove it and give each host its new value"}
	ledgerKey = keyFile{"ledger.key", "key of ledgers", "remove it, and the next heads are signed by a new one"}
)

func (k keyFile) path() (string, error) {
	config, err := userConfig()
	return filepath.Join(filepath.Dir(config), k.name), err
}

func (k keyFile) read(path string) ([]byte, error) {
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

// make returns the key, and makes it if there is none. Of two that make it at one time, one wins and both return it.
func (k keyFile) make(path string) ([]byte, error) {
	key, err := k.read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	key = make([]byte, keySize)
	rand.Read(key)
	tmp, err := os.CreateTemp(filepath.Dir(path), k.name+".new-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	return k.read(path)
}

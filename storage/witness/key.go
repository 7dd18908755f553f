package witness

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
	"curtsy/storage/ledger/checkpoint"
)

// keyFile is the witness's own key in its folder: its name, a space, 32 octets in hexadecimal digits.
const keyFile = "witness.key"

// KeyOf is the verifier key of the witness in a folder. It is made if there is none, under a name that may be empty.
func KeyOf(dir, name string) (checkpoint.Key, error) {
	if err := durable.MakeFolder(dir); err != nil {
		return checkpoint.Key{}, fmt.Errorf("witness: %w", err)
	}
	s, err := openKey(dir, name)
	if err != nil {
		return checkpoint.Key{}, err
	}
	return s.Key(), nil
}

// Kept is what the witness in a folder has cosigned last of an origin. The witness may run meanwhile.
func Kept(dir, origin string) (*checkpoint.Note, error) {
	b, err := durable.ReadFile(filepath.Join(dir, stateFolder, originHash(origin)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("witness: it has cosigned no checkpoint of this log")
	}
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	n, err := checkpoint.Parse(b)
	if err == nil && n.Origin != origin {
		err = errors.New("witness: its checkpoint is of another log")
	}
	return n, err
}

// IsFolder reports whether a folder is that of a witness.
func IsFolder(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, keyFile))
	return err == nil && fi.Mode().IsRegular()
}

// openKey reads the key of a folder, or makes it, under a name that the user may have wished. A key keeps its name.
func openKey(dir, name string) (*checkpoint.Signer, error) {
	path := filepath.Join(dir, keyFile)
	b, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = newKey(name); err != nil {
			return nil, err
		}
		err = durable.New(path, func(w io.Writer) error { _, err := w.Write(b); return err })
	}
	if err != nil {
		return nil, fmt.Errorf("witness: key: %w", err)
	}
	own, digits, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	seed, err := hex.DecodeString(digits)
	var s *checkpoint.Signer
	if err == nil {
		s, err = checkpoint.WitnessSigner(own, seed)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("witness: %s is damaged: put its copy back; without one, begin a new witness in another folder",
			path)
	case name != "" && name != own:
		return nil, fmt.Errorf("witness: the key of %s has the name %s already, and keeps it; a witness of another name needs "+
			"another folder", dir, own)
	}
	return s, nil
}

// newKey is the content of a new file.
func newKey(name string) ([]byte, error) {
	seed := make([]byte, 32)
	rand.Read(seed)
	if name == "" {
		s, err := checkpoint.NewSigner(seed)
		if err != nil {
			return nil, err
		}
		name = strings.Replace(s.Name(), "curtsy-", "curtsy-witness-", 1)
	}
	if _, err := checkpoint.WitnessSigner(name, seed); err != nil {
		return nil, err
	}
	return []byte(name + " " + hex.EncodeToString(seed) + "\n"), nil
}

package checkpoint

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint says that the log of an origin has so many entries, and the root hash of their tree.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Text is the body of a checkpoint's note: three lines.
func (c Checkpoint) Text() []byte {
	return log.Checkpoint{Origin: c.Origin, Size: uint64(c.Size), Hash: c.Root[:]}.Marshal()
}

// parseText reads the body of a note in the one way in which Text writes it. Further lines may follow: they are signed
// as well (extension lines), and mean nothing here.
func parseText(b []byte) (c Checkpoint, err error) {
	var of log.Checkpoint
	rest, err := of.Unmarshal(b)
	switch {
	case err != nil:
		return c, errors.New("it lacks the lines origin, size and root hash")
	case of.Size > math.MaxInt64:
		return c, errors.New("its size is too large")
	case len(of.Hash) != tlog.HashSize:
		return c, fmt.Errorf("its root hash has %d bytes, not %d", len(of.Hash), tlog.HashSize)
	case !bytes.HasPrefix(b, of.Marshal()) || len(of.Marshal())+len(rest) != len(b):
		return c, errors.New("its size or root hash is written in another way than it should be")
	}
	return Checkpoint{Origin: of.Origin, Size: int64(of.Size), Root: tlog.Hash(of.Hash)}, nil
}

// Sign returns the note of c, signed by s. A nil s gives the note of a ledger without a key, which has no signature.
func (s *Signer) Sign(c Checkpoint) ([]byte, error) {
	if s == nil {
		return append(c.Text(), '\n'), nil
	}
	b, err := note.Sign(&note.Note{Text: string(c.Text())}, s.note)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: sign: %w", err)
	}
	return b, nil
}

// NewID returns what tells one log from another: 16 random digits.
func NewID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Origin is the origin of the log with that id whose first checkpoint s signs. It stays, though the key may change.
func Origin(s *Signer, id string) string {
	if s == nil {
		return "curtsy/" + id
	}
	return s.key.name + "/" + id
}

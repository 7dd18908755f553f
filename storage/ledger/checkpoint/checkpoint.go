package checkpoint

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

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

// Short is SIZE:HEX, as people keep a checkpoint elsewhere: the number of entries and the root.
func (c Checkpoint) Short() string {
	return strconv.FormatInt(c.Size, 10) + ":" + hex.EncodeToString(c.Root[:])
}

var errKept = errors.New("not a checkpoint: give the output of curtsy ledger checkpoint, or SIZE:HEX (the number of " +
	"lines and the 64 digits of the root)")

// ParseKept reads a checkpoint that was kept elsewhere: SIZE:HEX, or a note, of which no signature is checked. The origin
// of the first is not known.
func ParseKept(text string) (c Checkpoint, err error) {
	short := strings.TrimSpace(text)
	if digits, root, ok := strings.Cut(short, ":"); ok && !strings.Contains(short, "\n") {
		size, err := strconv.ParseUint(digits, 10, 63)
		b, herr := hex.DecodeString(root)
		if err != nil || herr != nil || len(b) != len(c.Root) {
			return c, errKept
		}
		return Checkpoint{Size: int64(size), Root: tlog.Hash(b)}, nil
	}
	n, err := Parse([]byte(text))
	if err != nil {
		return c, errKept
	}
	return n.Checkpoint, nil
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

package vouch

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"curtsy/storage/ledger/checkpoint"
)

// Head is what was lodged elsewhere: the size of a ledger and the root of its tree then.
type Head struct {
	Origin string // empty where it is not told
	Size   int64
	Root   [32]byte
}

// HeadOf is the head that a checkpoint is.
func HeadOf(c checkpoint.Checkpoint) Head { return Head{c.Origin, c.Size, c.Root} }

// String is h as ParseHead reads it.
func (h Head) String() string {
	return strconv.FormatInt(h.Size, 10) + ":" + hex.EncodeToString(h.Root[:])
}

var errHead = errors.New("not a checkpoint: give the output of curtsy ledger checkpoint, or SIZE:HEX (the number of " +
	"lines and the 64 digits of the root)")

// ParseHead reads a head: SIZE:HEX, or a note, of which no signature is checked: it was the auditor who kept it.
func ParseHead(text string) (Head, error) {
	short := strings.TrimSpace(text)
	if digits, root, ok := strings.Cut(short, ":"); ok && !strings.Contains(short, "\n") {
		h := Head{}
		size, err := strconv.ParseUint(digits, 10, 63)
		b, herr := hex.DecodeString(strings.ToLower(root))
		if err != nil || herr != nil || len(b) != len(h.Root) {
			return Head{}, errHead
		}
		h.Size, h.Root = int64(size), [32]byte(b)
		return h, nil
	}
	n, err := checkpoint.Parse([]byte(text))
	if err != nil {
		return Head{}, errHead
	}
	return HeadOf(n.Checkpoint), nil
}

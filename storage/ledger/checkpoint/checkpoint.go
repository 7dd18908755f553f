package checkpoint

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/transparency-dev/formats/log"
	cosign "github.com/transparency-dev/formats/note"
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

// What a note may have. The signed-note library takes no more signatures than that.
const (
	MaxNote       = 64 << 10 // bytes
	MaxSignatures = 100
)

// Note is a checkpoint with its signatures, none of which has been checked.
type Note struct {
	Checkpoint
	Signatures []Signature

	text []byte // what is signed
}

// Signature is a line of a note.
type Signature struct {
	Name   string
	Hash   uint32 // of name and key
	Octets []byte // of the signature, without the hash before it
}

// Parse reads a note that may come from anybody.
func Parse(b []byte) (*Note, error) {
	n, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return n, nil
}

func parse(b []byte) (*Note, error) {
	if len(b) > MaxNote {
		return nil, fmt.Errorf("a note has at most %d bytes, and this has %d", MaxNote, len(b))
	}
	var of *note.Note
	if text, ok := bytes.CutSuffix(b, []byte("\n\n")); ok && !bytes.Contains(text, []byte("\n\n")) {
		of = &note.Note{Text: string(b[:len(b)-1])}
	} else {
		var none *note.UnverifiedNoteError
		if _, err := note.Open(b, nil); !errors.As(err, &none) {
			return nil, fmt.Errorf("not a signed note of at most %d signatures: text, a blank line, and lines of signatures", MaxSignatures)
		}
		of = none.Note
	}
	c, err := parseText([]byte(of.Text))
	if err != nil {
		return nil, err
	}
	n := &Note{Checkpoint: c, text: []byte(of.Text)}
	for _, s := range of.UnverifiedSigs {
		line, err := ofLibrary(s)
		if err != nil {
			return nil, err
		}
		n.Signatures = append(n.Signatures, line)
	}
	return n, nil
}

// ofLibrary takes a signature of the signed-note library apart.
func ofLibrary(s note.Signature) (Signature, error) {
	b, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil || len(b) < 4 {
		return Signature{}, fmt.Errorf("the signature of %.80q cannot be read", s.Name)
	}
	return Signature{Name: s.Name, Hash: s.Hash, Octets: b[4:]}, nil
}

// library is s as the signed-note library has it.
func (s Signature) library() note.Signature {
	b := append(binary.BigEndian.AppendUint32(nil, s.Hash), s.Octets...)
	return note.Signature{Name: s.Name, Hash: s.Hash, Base64: base64.StdEncoding.EncodeToString(b)}
}

// Text is what the signatures sign: the note without them and without the blank line.
func (n *Note) Text() []byte { return slices.Clone(n.text) }

// Marshal is n in its written form.
func (n *Note) Marshal() []byte {
	of := &note.Note{Text: string(n.text)}
	for _, s := range n.Signatures {
		of.UnverifiedSigs = append(of.UnverifiedSigs, s.library())
	}
	b, err := note.Sign(of)
	if err != nil { // a Signature that nobody parsed
		return append(slices.Clone(n.text), '\n')
	}
	return b
}

// Add adds a signature, unchecked. It reports whether the note is another one now: not if it has that signature, or as
// many as it may have.
func (n *Note) Add(s Signature) bool {
	same := func(o Signature) bool { return o.Name == s.Name && o.Hash == s.Hash && bytes.Equal(o.Octets, s.Octets) }
	if len(n.Signatures) >= MaxSignatures || slices.ContainsFunc(n.Signatures, same) {
		return false
	}
	n.Signatures = append(n.Signatures, s)
	return true
}

// SignedBy reports whether k has signed n.
func (n *Note) SignedBy(k Key) bool {
	v, err := note.NewVerifier(k.text)
	return err == nil && slices.ContainsFunc(n.Signatures, func(s Signature) bool { return verified(n, s, v) })
}

// Claimed returns the first signature of n under the name and hash of k, right or wrong: a wrong one is a forgery, where
// none at all says nothing.
func (n *Note) Claimed(k Key) (Signature, bool) {
	v, err := note.NewVerifier(k.text)
	if err != nil {
		return Signature{}, false
	}
	i := slices.IndexFunc(n.Signatures, func(s Signature) bool { return s.Name == v.Name() && s.Hash == v.KeyHash() })
	if i < 0 {
		return Signature{}, false
	}
	return n.Signatures[i], true
}

// Cosigned reports whether the witness with the verifier key k has cosigned n, and when it says that it did (the latest
// time, of several cosignatures).
func (n *Note) Cosigned(k Key) (at time.Time, ok bool) {
	v, err := cosign.NewVerifierForCosignatureV1(k.text)
	if err != nil {
		return at, false
	}
	for _, s := range n.Signatures {
		if !verified(n, s, v) {
			continue
		}
		if t, err := cosign.CoSigV1Timestamp(s.library()); err == nil && (!ok || t.After(at)) {
			at, ok = t.UTC(), true
		}
	}
	return at, ok
}

func verified(n *Note, s Signature, v note.Verifier) bool {
	return s.Name == v.Name() && s.Hash == v.KeyHash() && v.Verify(n.text, s.Octets)
}

// Cosign returns the cosignature of a witness under n, of this moment (cosignature/v1). It checks nothing: whoever calls
// it has checked that n is consistent with all that the witness has cosigned before.
func (s *Signer) Cosign(n *Note) (Signature, error) {
	signer, err := cosign.NewSignerForCosignatureV1(s.secret())
	if err != nil {
		return Signature{}, fmt.Errorf("checkpoint: cosign: %w", err)
	}
	b, err := signer.Sign(n.text)
	if err != nil {
		return Signature{}, fmt.Errorf("checkpoint: cosign: %w", err)
	}
	return Signature{Name: signer.Name(), Hash: signer.KeyHash(), Octets: b}, nil
}

// Line is s as a line of a note, with its newline.
func (s Signature) Line() []byte {
	return []byte("\u2014 " + s.Name + " " + s.library().Base64 + "\n")
}

// ParseSignatures reads lines of signatures, as a witness answers with.
func ParseSignatures(b []byte) ([]Signature, error) {
	n, err := parse(append([]byte("of\n0\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"), b...))
	if err != nil || len(n.Signatures) == 0 {
		return nil, errors.New("checkpoint: these are not signature lines")
	}
	return n.Signatures, nil
}

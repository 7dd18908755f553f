package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
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

// Checkpoint is the number of entries and the root hash of the tree of the log with an origin.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Text is the body of a checkpoint's note: three lines.
func (c Checkpoint) Text() []byte {
	return log.Checkpoint{Origin: c.Origin, Size: uint64(c.Size), Hash: c.Root[:]}.Marshal()
}

// Short is SIZE:HEX, the form for people: number of entries and root.
func (c Checkpoint) Short() string {
	return strconv.FormatInt(c.Size, 10) + ":" + hex.EncodeToString(c.Root[:])
}

var errKept = errors.New("not a checkpoint: give the output of curtsy ledger checkpoint, or SIZE:HEX (the number of " +
	"lines and the 64 digits of the root)")

// ParseKept reads a kept checkpoint: SIZE:HEX, without an origin, or a note, whose signatures it does not check.
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

// parseText reads the body of a note in the exact form of Text. Further (extension) lines may follow, signed as well.
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

// Sign returns the note of c, signed by s. A nil s returns the unsigned note of a ledger without a key.
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

// NewID returns the id of a log: 16 random hexadecimal digits.
func NewID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Origin returns the origin of the log with an id whose first checkpoint s signs. It stays if the key changes.
func Origin(s *Signer, id string) string {
	if s == nil {
		return "curtsy/" + id
	}
	return s.key.name + "/" + id
}

const (
	MaxNote       = 64 << 10 // bytes
	MaxSignatures = 100
)

// Note is a checkpoint with its unchecked signatures.
type Note struct {
	Checkpoint
	Signatures []Signature

	text []byte // the signed text
}

type Signature struct {
	Name   string
	Hash   uint32 // of name and key
	Octets []byte // of the signature, without the hash before it
}

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
		b, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil || len(b) < 4 {
			return nil, fmt.Errorf("the signature of %.80q cannot be read", s.Name)
		}
		n.Signatures = append(n.Signatures, Signature{Name: s.Name, Hash: s.Hash, Octets: b[4:]})
	}
	return n, nil
}

func (s Signature) library() note.Signature {
	b := append(binary.BigEndian.AppendUint32(nil, s.Hash), s.Octets...)
	return note.Signature{Name: s.Name, Hash: s.Hash, Base64: base64.StdEncoding.EncodeToString(b)}
}

// Text returns the signed part: the note without signatures and blank line.
func (n *Note) Text() []byte { return slices.Clone(n.text) }

func (n *Note) Marshal() []byte {
	of := &note.Note{Text: string(n.text)}
	for _, s := range n.Signatures {
		of.UnverifiedSigs = append(of.UnverifiedSigs, s.library())
	}
	b, err := note.Sign(of)
	if err != nil { // a Signature that was not parsed
		return append(slices.Clone(n.text), '\n')
	}
	return b
}

// Add adds a signature, unchecked. It reports false if the note has it, or has MaxSignatures.
func (n *Note) Add(s Signature) bool {
	same := func(o Signature) bool { return o.Name == s.Name && o.Hash == s.Hash && bytes.Equal(o.Octets, s.Octets) }
	if len(n.Signatures) >= MaxSignatures || slices.ContainsFunc(n.Signatures, same) {
		return false
	}
	n.Signatures = append(n.Signatures, s)
	return true
}

func (n *Note) SignedBy(k Key) bool {
	v, err := note.NewVerifier(k.text)
	return err == nil && slices.ContainsFunc(n.Signatures, func(s Signature) bool { return verified(n, s, v) })
}

// Claimed returns the first signature of n under the name and hash of k, valid or forged.
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

// Cosigned reports whether the witness with the verifier key k cosigned n, and returns the latest time of its cosignatures.
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

// Cosign returns a witness's cosignature of n at this moment (cosignature/v1). The caller has checked that n is consistent with
// all that the witness has cosigned.
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

// ParseSignatures reads signature lines, the response of a witness.
func ParseSignatures(b []byte) ([]Signature, error) {
	n, err := parse(append([]byte("of\n0\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"), b...))
	if err != nil || len(n.Signatures) == 0 {
		return nil, errors.New("checkpoint: these are not signature lines")
	}
	return n.Signatures, nil
}

const (
	algEd25519     = 1       // the byte before a key in a verifier or signer key (https://c2sp.org/signed-note)
	algCosignature = 4       // the same for a key of cosignatures (https://c2sp.org/tlog-cosignature)
	maxKey         = 1 << 10 // bytes of a verifier key
)

// Key is a verifier key. Its zero value is no key.
type Key struct {
	name   string
	text   string
	public string // as a string, so that keys can be compared
}

// ParseKey reads a verifier key, NAME+HASH+BASE64, of Ed25519. It ignores white space around it, as in a file. A witness's key
// may be in the form for cosignatures (Cosigner) or for signatures.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxKey {
		return Key{}, fmt.Errorf("a verifier key has at most %d bytes, and this has %d", maxKey, len(text))
	}
	bad := func(why string) (Key, error) {
		return Key{}, fmt.Errorf("%.80q is not a verifier key: %s (it is NAME+HASH+BASE64, as curtsy ledger key prints it)", text, why)
	}
	if k, ok := parseCosigner(text); ok {
		return k, nil
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return bad("its parts do not fit each other")
	}
	octets, err := base64.StdEncoding.Strict().DecodeString(text[len(v.Name())+len("+HHHHHHHH+"):])
	if err != nil || len(octets) != 1+ed25519.PublicKeySize || octets[0] != algEd25519 {
		return bad("it is not of Ed25519")
	}
	k, err := named(v.Name(), octets[1:])
	if err != nil || k.text != text {
		return bad("it is written in another way than it should be")
	}
	return k, nil
}

func parseCosigner(text string) (Key, bool) {
	name, rest, _ := strings.Cut(text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	octets, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(octets) != 1+ed25519.PublicKeySize || octets[0] != algCosignature {
		return Key{}, false
	}
	k, err := named(name, octets[1:])
	return k, err == nil && k.Cosigner() == text
}

// Cosigner returns the key of a witness in its written form, as a key for cosignatures; empty for none.
func (k Key) Cosigner() string {
	if k.IsZero() {
		return ""
	}
	text, err := cosign.VKeyToCosignatureV1(k.text)
	if err != nil {
		return ""
	}
	return text
}

// KeyOf returns the verifier key of an operator's public key, with the name that curtsy gives it.
func KeyOf(public ed25519.PublicKey) Key {
	sum := sha256.Sum256(public)
	k, err := named("curtsy-"+hex.EncodeToString(sum[:4]), public)
	if err != nil {
		return Key{} // of another length than a key
	}
	return k
}

func named(name string, public ed25519.PublicKey) (Key, error) {
	text, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		return Key{}, err
	}
	return Key{name: name, text: text, public: string(public)}, nil
}

func (k Key) Name() string { return k.name }

// String is the verifier key in its written form; empty for none.
func (k Key) String() string { return k.text }

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.text == "" }

// Public is the key itself, nil for none.
func (k Key) Public() ed25519.PublicKey {
	if k.public == "" {
		return nil
	}
	return ed25519.PublicKey(k.public)
}

// Signer signs under a name. A nil *Signer does not sign.
type Signer struct {
	key  Key
	seed []byte
	note note.Signer
}

// NewSigner returns the signer of an operator, from the 32 bytes of its secret.
func NewSigner(seed []byte) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key has %d bytes, and this has %d", ed25519.SeedSize, len(seed))
	}
	return newSigner(KeyOf(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)), seed)
}

// WitnessSigner returns a signer under a chosen name, which has neither white space nor a plus sign.
func WitnessSigner(name string, seed []byte) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key has %d bytes, and this has %d", ed25519.SeedSize, len(seed))
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '+' || r > '~' }) || name == "" || len(name) > 255 {
		return nil, fmt.Errorf("%.80q cannot be the name of a key: it has ASCII letters, digits and marks, no space and no plus sign", name)
	}
	k, err := named(name, ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("%.80q cannot be the name of a key: %w", name, err)
	}
	return newSigner(k, seed)
}

func newSigner(k Key, seed []byte) (*Signer, error) {
	s := &Signer{key: k, seed: append([]byte(nil), seed...)}
	var err error
	if s.note, err = note.NewSigner(s.secret()); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return s, nil
}

// secret is the signer key in the form of signed-note libraries.
func (s *Signer) secret() string {
	hash, _, _ := strings.Cut(strings.TrimPrefix(s.key.text, s.key.name+"+"), "+")
	return "PRIVATE+KEY+" + s.key.name + "+" + hash + "+" + base64.StdEncoding.EncodeToString(append([]byte{algEd25519}, s.seed...))
}

// Name is the name under which s signs; empty for nil.
func (s *Signer) Name() string {
	if s == nil {
		return ""
	}
	return s.key.name
}

// Key is the verifier key of s, none for nil.
func (s *Signer) Key() Key {
	if s == nil {
		return Key{}
	}
	return s.key
}

// VerifierKey is the verifier key of s in its written form; empty for nil.
func (s *Signer) VerifierKey() string { return s.Key().text }

// rotationTitle separates signatures of rotations from others.
const rotationTitle = "curtsy key rotation"

// Rotation records that an operator signs with another key from a time on. Both keys sign it.
type Rotation struct {
	Old, New Key
	At       time.Time // in seconds, UTC
}

func Rotate(from, to *Signer, at time.Time) ([]byte, error) {
	if from == nil || to == nil || from.key == to.key {
		return nil, errors.New("checkpoint: a rotation is from one key to another")
	}
	text := strings.Join([]string{rotationTitle, from.key.text, to.key.text, at.UTC().Format(time.RFC3339), ""}, "\n")
	b, err := note.Sign(&note.Note{Text: text}, from.note, to.note)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: rotation: %w", err)
	}
	return b, nil
}

// ParseRotation reads the note of a rotation, and checks both signatures.
func ParseRotation(b []byte) (r Rotation, err error) {
	bad := func(why string) (Rotation, error) {
		return Rotation{}, fmt.Errorf("checkpoint: not a rotation of a key: %s", why)
	}
	if len(b) > MaxNote {
		return bad("it is too long")
	}
	text, _, _ := strings.Cut(string(b), "\n\n")
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] != rotationTitle {
		return bad("it lacks the lines title, old key, new key and date")
	}
	if r.Old, err = ParseKey(lines[1]); err != nil {
		return bad(err.Error())
	}
	if r.New, err = ParseKey(lines[2]); err != nil {
		return bad(err.Error())
	}
	if r.At, err = time.Parse(time.RFC3339, lines[3]); err != nil || r.At.UTC().Format(time.RFC3339) != lines[3] {
		return bad("its date is not in UTC")
	}
	if r.Old == r.New {
		return bad("old and new key are one")
	}
	for _, k := range []Key{r.Old, r.New} {
		v, err := note.NewVerifier(k.text)
		if err != nil {
			return bad(err.Error())
		}
		n, err := note.Open(b, note.VerifierList(v))
		if err != nil || n.Text != text+"\n" {
			return bad("it is not signed by " + k.name)
		}
	}
	return r, nil
}

package checkpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// algEd25519 is the octet before an Ed25519 key in a verifier key or signer key (https://c2sp.org/signed-note).
const algEd25519 = 1

// algCosignature is that octet where the key is one for cosignatures (https://c2sp.org/tlog-cosignature).
const algCosignature = 4

// maxKey is the longest verifier key that is read, in bytes.
const maxKey = 1 << 10

// Key is a verifier key. Its zero value is none.
type Key struct {
	name   string
	text   string
	public string // as a string, so that keys can be compared
}

// ParseKey reads a verifier key, NAME+HASH+BASE64. White space around it is cut off, so that the content of a file will
// do. Only keys of Ed25519 are known. A witness's key may be written as the one for cosignatures that it is (Cosigner),
// or as one for signatures: what is meant follows from where it is used.
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

// parseCosigner reads a key that Cosigner wrote.
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

// Cosigner is the key of a witness in its written form, as a key for cosignatures; empty for none.
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

// KeyOf is the verifier key of an operator's public key, under the name that curtsy gives it.
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

// Name is the name under which the key signs.
func (k Key) Name() string { return k.name }

// String is the verifier key in its written form; empty for none.
func (k Key) String() string { return k.text }

// IsZero reports whether k is none.
func (k Key) IsZero() bool { return k.text == "" }

// Public is the key itself, nil for none.
func (k Key) Public() ed25519.PublicKey {
	if k.public == "" {
		return nil
	}
	return ed25519.PublicKey(k.public)
}

// Signer signs under a name. A nil *Signer is none.
type Signer struct {
	key  Key
	seed []byte
	note note.Signer
}

// NewSigner returns the signer of an operator, from the 32 octets of its secret.
func NewSigner(seed []byte) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key has %d bytes, and this has %d", ed25519.SeedSize, len(seed))
	}
	return newSigner(KeyOf(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)), seed)
}

// WitnessSigner returns a signer under a name of its own choosing, which has neither white space nor a plus sign.
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

// secret is the signer key in the written form that libraries of signed notes take.
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

// rotationTitle keeps a signature that was made for something else from being one of a rotation.
const rotationTitle = "curtsy key rotation"

// Rotation says that an operator signs with another key from some time on. Both keys have signed it.
type Rotation struct {
	Old, New Key
	At       time.Time // in seconds, UTC
}

// Rotate returns the note of a rotation.
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

package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func seed(n byte) []byte { return bytes.Repeat([]byte{n}, ed25519.SeedSize) }

func signer(t testing.TB, n byte) *Signer {
	t.Helper()
	s, err := NewSigner(seed(n))
	require.NoError(t, err)
	return s
}

var some = Checkpoint{Origin: "curtsy-00000000/0123456789abcdef", Size: 42, Root: tlog.RecordHash([]byte("x"))}

func TestACheckpointIsASignedNoteThatOthersRead(t *testing.T) {
	s := signer(t, 1)
	b, err := s.Sign(some)
	require.NoError(t, err)
	v, err := note.NewVerifier(s.VerifierKey())
	require.NoError(t, err)
	_, err = note.Open(b, note.VerifierList(v))
	assert.NoError(t, err, "the signed-note library")
	want := some.Origin + "\n42\n" + some.Root.String() + "\n\n\u2014 " + s.Name() + " "
	assert.Truef(t, strings.HasPrefix(string(b), want), "%s\nwant it to begin with\n%s", b, want)
	n, err := Parse(b)
	if err != nil || n.Checkpoint != some || !n.SignedBy(s.Key()) || n.SignedBy(signer(t, 2).Key()) || n.SignedBy(Key{}) {
		t.Errorf("%+v, %v", n, err)
	}
	if !bytes.Equal(n.Marshal(), b) || !bytes.Equal(n.Text(), some.Text()) {
		t.Errorf("written again it is\n%s", n.Marshal())
	}
}

func TestAKeyHasOneName(t *testing.T) {
	s := signer(t, 1)
	k, err := ParseKey(" " + s.VerifierKey() + "\n")
	if err != nil || k != s.Key() || k != KeyOf(k.Public()) || !strings.HasPrefix(k.Name(), "curtsy-") {
		t.Errorf("%v, %v", k, err)
	}
	if KeyOf(nil) != (Key{}) || (Key{}).Public() != nil || !(Key{}).IsZero() {
		t.Error("no key is one")
	}
	w, err := WitnessSigner("witness.test/w", seed(1))
	if err != nil || w.Name() != "witness.test/w" || w.Key() == k {
		t.Errorf("%v, %v", w, err)
	}
	for _, name := range []string{"", "a b", "a+b", "a\nb", "\u2014", strings.Repeat("a", 300)} {
		_, err := WitnessSigner(name, seed(1))
		assert.Errorf(t, err, "%q is taken for a name", name)
	}
	_, err = NewSigner(seed(1)[1:])
	assert.Error(t, err, "31 octets make a key")
}

func TestAWitnessKeyHasTwoForms(t *testing.T) {
	w, err := WitnessSigner("witness.test/w", seed(1))
	require.NoError(t, err)
	text := w.Key().Cosigner()
	k, err := ParseKey(text + "\n")
	if err != nil || k != w.Key() || text == k.String() || !strings.HasPrefix(text, "witness.test/w+") {
		t.Errorf("%s: %v, %v", text, k, err)
	}
	n, err := Parse(append(some.Text(), '\n'))
	require.NoError(t, err)
	sig, err := w.Cosign(n)
	require.NoError(t, err)
	assert.Contains(t, text, fmt.Sprintf("+%08x+", sig.Hash), "the key id of the cosignature")
	for _, bad := range []string{text[:len(text)-4], strings.Replace(text, "+", "+0", 1), "x" + text} {
		k, err := ParseKey(bad)
		assert.Errorf(t, err, "%q is %v", bad, k)
	}
	assert.Empty(t, (Key{}).Cosigner(), "no key has a form")
}

func TestParseKey_RejectsInvalidKeys(t *testing.T) {
	right := signer(t, 1).VerifierKey()
	for _, text := range []string{"", "a", right[1:], right[:len(right)-4], right + "AAAA", strings.Repeat("a", 2000), "PRIVATE+KEY+" + right,
		strings.Replace(right, "+", "+0", 1), right + "\n" + right, "x\x00" + right} {
		k, err := ParseKey(text)
		assert.Errorf(t, err, "%q is %v", text, k)
	}
}

func TestALedgerWithoutAKeyHasNotesWithoutSignatures(t *testing.T) {
	var s *Signer
	b, err := s.Sign(some)
	require.NoError(t, err)
	require.Equal(t, string(some.Text())+"\n", string(b))
	n, err := Parse(b)
	if err != nil || n.Checkpoint != some || len(n.Signatures) != 0 || n.SignedBy(signer(t, 1).Key()) {
		t.Errorf("%+v, %v", n, err)
	}
	if !bytes.Equal(n.Marshal(), b) || s.Name() != "" || s.VerifierKey() != "" || Origin(s, "id") != "curtsy/id" {
		t.Errorf("%q", n.Marshal())
	}
}

func TestCosignature_HasTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := signer(t, 1).Sign(some)
		n, err := Parse(b)
		require.NoError(t, err)
		w, _ := WitnessSigner("w", seed(2))
		if _, ok := n.Cosigned(w.Key()); ok {
			t.Error("it is cosigned before the witness saw it")
		}
		for range 2 {
			time.Sleep(time.Hour)
			sig, err := w.Cosign(n)
			if err != nil || !n.Add(sig) || n.Add(sig) {
				t.Fatal(err)
			}
			read, err := ParseSignatures(sig.Line())
			if err != nil || len(read) != 1 || read[0].Name != "w" || !bytes.Equal(read[0].Octets, sig.Octets) {
				t.Errorf("%v, %v", read, err)
			}
		}
		again, err := Parse(n.Marshal())
		require.NoError(t, err)
		at, ok := again.Cosigned(w.Key())
		if !ok || !at.Equal(time.Now()) || !again.SignedBy(signer(t, 1).Key()) || again.SignedBy(w.Key()) {
			t.Errorf("%v, %v; now %v", at, ok, time.Now())
		}
		// It is invalid for another text.
		other := some
		other.Size++
		b, _ = signer(t, 1).Sign(other)
		o, _ := Parse(b)
		o.Add(again.Signatures[1])
		if _, ok := o.Cosigned(w.Key()); ok {
			t.Error("a cosignature passes under another checkpoint")
		}
		if _, ok := o.Claimed(w.Key()); ok {
			t.Error("a cosignature is taken for a signature")
		}
		if _, ok := o.Claimed(signer(t, 1).Key()); !ok {
			t.Error("a signature is not claimed")
		}
	})
}

func TestParse_RejectsInvalidCheckpoints(t *testing.T) {
	right, _ := signer(t, 1).Sign(some)
	line := string(right[bytes.Index(right, []byte("\u2014")):])
	hash := some.Root.String()
	for name, text := range map[string]string{
		"empty":               "",
		"one line":            "a\n\n",
		"no origin":           "\n1\n" + hash + "\n\n",
		"no blank line":       "a\n1\n" + hash + "\n" + line,
		"size with a sign":    "a\n+1\n" + hash + "\n\n" + line,
		"size with a zero":    "a\n01\n" + hash + "\n\n" + line,
		"size below nothing":  "a\n-1\n" + hash + "\n\n",
		"size too large":      fmt.Sprintf("a\n%d\n%s\n\n", uint64(math.MaxInt64)+1, hash),
		"root too short":      "a\n1\nAAAA\n\n",
		"root with a newline": "a\n1\n" + hash[:4] + "\r" + hash[4:] + "\n\n",
		"control characters":  "a\x1b\n1\n" + hash + "\n\n" + line,
		"1 MiB":               "a\n1\n" + hash + "\n" + strings.Repeat("x\n", 1<<19) + "\n" + line,
		"1000 signatures":     "a\n1\n" + hash + "\n\n" + strings.Repeat(line, 1000),
		"a torn signature":    string(right[:len(right)-3]),
	} {
		if n, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, n)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExtensionLinesAreKept(t *testing.T) {
	text := string(some.Text()) + "an extension\n"
	v := signer(t, 1)
	b, err := note.Sign(&note.Note{Text: text}, v.note)
	require.NoError(t, err)
	n, err := Parse(b)
	if err != nil || n.Checkpoint != some || string(n.Text()) != text || !n.SignedBy(v.Key()) || !bytes.Equal(n.Marshal(), b) {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestARotationIsSignedByBothKeys(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 5, time.UTC)
	b, err := Rotate(signer(t, 1), signer(t, 2), at)
	require.NoError(t, err)
	r, err := ParseRotation(b)
	if err != nil || r.Old != signer(t, 1).Key() || r.New != signer(t, 2).Key() || !r.At.Equal(at.Truncate(time.Second)) {
		t.Errorf("%+v, %v", r, err)
	}
	lines := strings.SplitAfter(string(b), "\n") // title, old, new, date, blank, two signatures
	for name, text := range map[string]string{
		"one signature":   strings.Join(lines[:6], ""),
		"another date":    strings.Replace(string(b), "12:00", "13:00", 1),
		"keys exchanged":  strings.Join([]string{lines[0], lines[2], lines[1], lines[3], lines[4], lines[5], lines[6]}, ""),
		"another title":   "x" + string(b),
		"a checkpoint":    string(some.Text()) + "\n",
		"a line more":     strings.Replace(string(b), "\n\n", "\nx\n\n", 1),
		"no text":         "",
		"too long":        string(b) + strings.Repeat(lines[5], 2000),
		"to the same key": strings.Replace(string(b), lines[2], lines[1], 1),
	} {
		r, err := ParseRotation([]byte(text))
		assert.Errorf(t, err, "%s: %+v", name, r)
	}
	_, err = Rotate(signer(t, 1), signer(t, 1), at)
	assert.Error(t, err, "a key rotates to itself")
	_, err = Rotate(nil, signer(t, 1), at)
	assert.Error(t, err, "no key rotates")
}

func FuzzParse(f *testing.F) {
	s := signer(f, 1)
	b, _ := s.Sign(some)
	f.Add(b)
	f.Add(append(some.Text(), '\n'))
	rotation, _ := Rotate(s, signer(f, 2), time.Unix(0, 0))
	f.Add(rotation)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseRotation(b); err == nil && r.Old == r.New {
			t.Error("a key rotates to itself")
		}
		n, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(n.Marshal())
		if err != nil || again.Checkpoint != n.Checkpoint || len(again.Signatures) != len(n.Signatures) || !bytes.Equal(again.Text(), n.Text()) {
			t.Errorf("written again, %q is %+v, %v", b, again, err)
		}
		n.SignedBy(s.Key())
		n.Cosigned(s.Key())
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add(signer(f, 1).VerifierKey())
	f.Add(signer(f, 1).Key().Cosigner())
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if text = strings.TrimSpace(text); err == nil && k.String() != text && k.Cosigner() != text {
			t.Errorf("%q is read as %q", text, k)
		}
	})
}

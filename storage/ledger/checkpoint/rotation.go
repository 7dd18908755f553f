package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

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

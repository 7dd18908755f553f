package witness

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// The bounds of a request (https://c2sp.org/tlog-witness, add-checkpoint).
const (
	MaxProof   = 63 // hashes
	maxRequest = len("old 9223372036854775807\n") + MaxProof*hashLine + len("\n") + checkpoint.MaxNote
	hashLine   = (tlog.HashSize+2)/3*4 + len("\n")
)

// A Request asks for the cosignature of a checkpoint. The proof says that its tree continues the one of size Old.
type Request struct {
	Old   int64
	Proof tlog.TreeProof
	Note  *checkpoint.Note
}

// Marshal is the request as it is sent.
func (r Request) Marshal() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", r.Old)
	for _, h := range r.Proof {
		b.WriteString(h.String() + "\n")
	}
	b.WriteByte('\n')
	b.Write(r.Note.Marshal())
	return b.Bytes()
}

// ParseRequest reads a request that may come from anybody. Only the form is checked.
func ParseRequest(b []byte) (r Request, err error) {
	bad := func(format string, args ...any) (Request, error) {
		return Request{}, fmt.Errorf("this is no request to a witness: "+format, args...)
	}
	if len(b) > maxRequest {
		return bad("it has more than %d octets", maxRequest)
	}
	head, note, ok := strings.Cut(string(b), "\n\n")
	if !ok {
		return bad("it lacks the blank line before the checkpoint")
	}
	lines := strings.Split(head, "\n")
	if r.Old, err = parseSize(strings.TrimPrefix(lines[0], "old ")); err != nil || !strings.HasPrefix(lines[0], "old ") {
		return bad("its first line is not old and a size")
	}
	if len(lines)-1 > MaxProof {
		return bad("its proof has %d lines, more than %d", len(lines)-1, MaxProof)
	}
	for i, line := range lines[1:] {
		h, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(h) != tlog.HashSize || strings.ContainsAny(line, "\r\n") {
			return bad("line %d of its proof is no hash", i+1)
		}
		r.Proof = append(r.Proof, tlog.Hash(h))
	}
	if r.Note, err = checkpoint.Parse([]byte(note)); err != nil {
		return bad("%w", err)
	}
	return r, nil
}

// parseSize reads a size in the one way in which it is written: no sign, no leading zero.
func parseSize(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, errors.New("it is no size")
	}
	return n, nil
}

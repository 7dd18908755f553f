package witness

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// A Request (https://c2sp.org/tlog-witness, add-checkpoint) asks for the cosignature of a checkpoint. The proof says that its tree continues the one of size Old.
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

// parseSize reads a size in the one way in which it is written: no sign, no leading zero.
func parseSize(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, errors.New("not a size")
	}
	return n, nil
}

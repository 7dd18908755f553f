package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

// Answer is the content of a response or revisit record.
type Answer struct {
	ID        string // of the record
	URL       string // as requested
	Date      time.Time
	Revisit   bool
	Status    int         // 0 without one
	Header    http.Header // never nil
	Complete  bool        // the head is whole
	Truncated string      // WARC-Truncated
	Digest    string      // WARC-Payload-Digest
	Refers    Reference   // of a revisit
	Head      int64       // bytes of the block before the body
	Undated   error       // why Date is zero

	http *warc.HTTP
}

// Reference is the original of a revisit (WARC 1.1, 6.7). Any part of it may be missing.
type Reference struct {
	ID, URL string
	Date    time.Time
}

// Read reads a response or revisit record up to its body, within the first most bytes of the block; 0 = unlimited. An
// error is one of reading the block.
func Read(rec *warc.Record, most int64) (*Answer, error) {
	block := rec.Block
	if most > 0 {
		block = io.LimitReader(block, most)
	}
	h, head, err := final(block)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		ID: rec.ID(), URL: rec.TargetURI(), Revisit: strings.EqualFold(rec.Type, "revisit"),
		Status: h.Status, Header: h.Header, Complete: h.Complete, Head: head,
		Truncated: rec.Fields.Get("WARC-Truncated"), Digest: rec.Fields.Get("WARC-Payload-Digest"), http: h,
	}
	a.Refers.ID = strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>")
	a.Refers.URL = strings.Trim(rec.Fields.Get("WARC-Refers-To-Target-URI"), "<>")
	if t, err := time.Parse(time.RFC3339Nano, rec.Fields.Get("WARC-Refers-To-Date")); err == nil {
		a.Refers.Date = t
	}
	a.Date, a.Undated = rec.Date()
	return a, nil
}

// final reads the head of a response, after interim ones (RFC 9110 15.2), and returns the size of all heads.
func final(block io.Reader) (h *warc.HTTP, head int64, err error) {
	for {
		if h, err = warc.ReadHTTP(block); err != nil {
			return nil, 0, err
		}
		head += int64(len(h.Head))
		if !h.Complete || h.Status < 100 || h.Status >= 200 || h.Status == http.StatusSwitchingProtocols {
			return h, head, nil
		}
		block = h.Payload
	}
}

// Whole reports whether the record has the whole body.
func (a *Answer) Whole() bool { return !a.Revisit && a.Complete && a.Truncated == "" }

// Type returns the media type by the Content-Type.
func (a *Answer) Type() mediatype.Type { return mediatype.Of(a.Header) }

// Charset returns the charset label of a page by its Content-Type or, in head, its XML declaration; "" without one. In
// HTML a declaration counts only in UTF-16.
func (a *Answer) Charset(head []byte) string {
	switch media := a.Type(); {
	case media.Charset != "":
		return media.Charset
	case media.IsXHTML():
		return mediatype.Declared(head)
	}
	return mediatype.Wide(head)
}

// Body returns the body without its content codings. After most bytes it ends in warc.ErrTooLarge.
func (a *Answer) Body(most int64) (io.Reader, error) { return a.http.Body(most) }

// ErrDigest is the error of a payload that does not match its record's digest.
var ErrDigest = errors.New("the payload does not have its digest")

// Decode writes the body without its content codings to w and compares the payload with the record's digest.
func (a *Answer) Decode(w io.Writer, most int64) error {
	sum := sha256.New()
	a.http.Payload = io.TeeReader(a.http.Payload, sum)
	body, err := a.Body(most)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, body); err == nil {
		_, err = io.Copy(io.Discard, a.http.Payload) // bytes after the coding belong to the payload
	}
	if want, ok := a.Sum(); err == nil && ok && !bytes.Equal(sum.Sum(nil), want[:]) {
		err = ErrDigest
	}
	return err
}

// Sniff returns the media type by the first bytes of the body; "" if unknown.
func (a *Answer) Sniff() string {
	body, err := a.Body(mediatype.MaxSniff)
	if err != nil {
		return ""
	}
	head := make([]byte, mediatype.MaxSniff)
	n, _ := io.ReadFull(body, head)
	return mediatype.Sniff(head[:n])
}

// Sum returns the record's SHA-256 of the payload, if it has one.
func (a *Answer) Sum() (sum [32]byte, ok bool) {
	text, ok := strings.CutPrefix(a.Digest, "sha256:")
	if !ok {
		return sum, false
	}
	return ParseSum(text)
}

// ParseSum parses a SHA-256 in hexadecimal digits.
func ParseSum(text string) (sum [32]byte, ok bool) {
	if len(text) != hex.EncodedLen(len(sum)) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(text))
	return sum, err == nil
}

// Digest returns a digest in lower case without the name of its algorithm, to compare those of several crawlers.
func Digest(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, ':')+1:]) }

// Decision returns the decision in rec if that is the metadata record of an answer.
func Decision(rec *warc.Record, answer string) (l storage.Line, ok bool) {
	if !strings.EqualFold(rec.Type, "metadata") || rec.IsRefusals() || rec.ConcurrentTo() != answer {
		return l, false
	}
	l, err := rec.Decision()
	return l, err == nil
}

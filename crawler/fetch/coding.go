package fetch

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// acceptEncoding is what we offer: the codings that contentCoding knows.
const acceptEncoding = "gzip"

// contentCoding returns the coding to undo ("gzip" or ""), and the value of Content-Encoding when it is one that stays:
// a coding we did not offer, or several.
func contentCoding(h http.Header) (undo, stays string) {
	value := strings.Join(h.Values("Content-Encoding"), ", ")
	var codings []string
	for c := range strings.SplitSeq(value, ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "x-gzip": // RFC 9110 8.4.1.3: equivalent to gzip
			codings = append(codings, "gzip")
		default:
			codings = append(codings, c)
		}
	}
	switch {
	case len(codings) == 0:
		return "", ""
	case len(codings) == 1 && codings[0] == "gzip":
		return "gzip", ""
	default:
		return "", value
	}
}

// gunzip decodes one or more gzip members (RFC 1952 2.2). No octets at all are an empty body: servers send the field
// with them. Octets after a whole member that begin no other are the end; the caller reads them off.
type gunzip struct {
	src     *bufio.Reader
	z       gzip.Reader
	members int
	within  bool // a member
}

func newGunzip() *gunzip { return &gunzip{src: bufio.NewReaderSize(nil, readBuffer)} }

func (g *gunzip) reset(r io.Reader) {
	g.src.Reset(r)
	g.members, g.within = 0, false
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if !g.within {
			err := g.z.Reset(g.src)
			if err != nil && g.members > 0 {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			g.z.Multistream(false)
			g.within = true
			g.members++
		}
		n, err := g.z.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		g.within = false
		if n > 0 {
			return n, nil
		}
	}
}

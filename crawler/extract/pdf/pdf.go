package pdf

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zlib"
)

// The bounds.
const (
	MaxSize     = 32 << 20 // bytes of a file; a larger one is not read
	MaxInflated = 64 << 20 // bytes of its object streams, inflated
	MaxLinks    = 50_000

	maxDepth = 64       // open arrays and dictionaries
	maxKept  = 16 << 10 // bytes of a string or name that are kept: over what package canon looks at
	maxStep  = 64 << 10 // bytes between two looks at the context
)

// The values of Result.Unread. They are stable: documents are counted by them.
const (
	UnreadNone      = ""
	UnreadLarge     = "pdf: over 32 MiB"
	UnreadNoPDF     = "pdf: no PDF file"
	UnreadEncrypted = "pdf: encrypted"
	UnreadInflated  = "pdf: over 64 MiB inflated"
	UnreadDamaged   = "pdf: damaged object stream"
	UnreadFilter    = "pdf: filter" // object streams are compressed in another way than with Flate
	UnreadDeep      = "pdf: over 64 open objects"
	UnreadLinks     = "pdf: over 50000 links"
	UnreadElsewhere = "pdf: address elsewhere" // an action refers to the string that it leads to
	UnreadPanic     = "pdf: reader failed"     // a defect of ours
)

// Result is what a file says.
type Result struct {
	Links  []string // in the order of the file, as it has them; may be relative, and may be repeated
	Unread string   // why links are missing; the first reason, if there are several
}

// Find reads a file. The error is that of ctx.
func Find(ctx context.Context, file []byte) (r Result, err error) {
	if len(file) > MaxSize {
		return Result{Unread: UnreadLarge}, ctx.Err()
	}
	// ISO 32000-2 7.5.2 wants the header in the first bytes; readers take it within the first 1024 (Annex H of PDF 1.7).
	if !bytes.Contains(file[:min(len(file), 1024)], []byte("%PDF-")) {
		return Result{Unread: UnreadNoPDF}, ctx.Err()
	}
	f := finder{ctx: ctx, left: MaxInflated}
	defer func() {
		if recover() != nil {
			r, err = Result{Unread: UnreadPanic}, ctx.Err()
		}
	}()
	f.read(file, false)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if f.encrypted {
		return Result{Unread: UnreadEncrypted}, nil
	}
	return Result{f.links, f.unread}, nil
}

// finder is one reading of a file.
type finder struct {
	ctx       context.Context
	left      int64 // bytes that may yet be inflated
	links     []string
	unread    string
	encrypted bool
}

func (f *finder) miss(why string) {
	if f.unread == UnreadNone {
		f.unread = why
	}
}

// frame is an open array, or an open dictionary with what is known of it.
type frame struct {
	array bool
	key   string // whose value comes next; empty where a key does

	kind, action, uri     string
	filter                string
	filters               int
	elsewhere             bool // the URI is a reference
	length, predictor     int64
	encrypt, hasURI, root bool // root: it follows the keyword trailer
}

// read reads objects: those of the file, or of an object stream in it.
func (f *finder) read(text []byte, within bool) {
	s := scanner{text: text}
	var open []frame
	var last frame // the dictionary that was closed last
	trailer, looked := false, 0
	for {
		if s.at-looked >= maxStep {
			if looked = s.at; f.ctx.Err() != nil {
				return
			}
		}
		t := s.next()
		switch t.kind {
		case end:
			return
		case openDict, openArray:
			if len(open) == maxDepth {
				f.miss(UnreadDeep)
				return
			}
			open = append(open, frame{array: t.kind == openArray, root: trailer, length: -1})
			trailer = false
			continue
		case closeDict, closeArray:
			if n := len(open) - 1; n >= 0 && open[n].array == (t.kind == closeArray) {
				if last = open[n]; !last.array {
					f.dictionary(&last)
				}
				open = open[:n]
				enclosed(open, &last)
			}
			continue
		case keyword:
			switch t.text {
			case "obj", "endobj", "xref":
				open, last = open[:0], frame{} // what was not closed ends with its object
			case "trailer":
				open, trailer = open[:0], true
			case "stream":
				if !within && len(open) == 0 {
					f.stream(&s, &last)
					looked, last = 0, frame{}
				}
			}
		}
		if n := len(open) - 1; n >= 0 {
			value(open, n, t)
		}
	}
}

// value takes in what stands in an open array or dictionary.
func value(open []frame, n int, t token) {
	d := &open[n]
	switch {
	case d.array:
		if n > 0 && open[n-1].key == "Filter" && t.kind == name {
			open[n-1].filter, open[n-1].filters = t.text, open[n-1].filters+1
		}
		return
	case d.key == "":
		if t.kind == name {
			d.key = t.text
		}
		return // the rest of a reference, or of what is no dictionary
	}
	switch d.key {
	case "Type":
		d.kind = t.text
	case "S":
		if t.kind == name {
			d.action = t.text
		}
	case "URI":
		if t.kind == text {
			d.uri, d.hasURI = t.text, true
		}
		d.elsewhere = t.kind == number
	case "Filter":
		if t.kind == name {
			d.filter, d.filters = t.text, 1
		}
	case "Length":
		if t.kind == number {
			d.length = t.number
		}
	case "Predictor":
		d.predictor = t.number
	case "Encrypt":
		d.encrypt = true
	}
	d.key = ""
}

// enclosed ends the value that an array or a dictionary is.
func enclosed(open []frame, inner *frame) {
	if len(open) == 0 {
		return
	}
	outer := &open[len(open)-1]
	switch outer.key {
	case "DecodeParms":
		outer.predictor = max(outer.predictor, inner.predictor)
	case "Encrypt":
		outer.encrypt = true
	}
	if outer.array {
		outer.predictor = max(outer.predictor, inner.predictor) // of an array of DecodeParms
	}
	outer.key = ""
}

// dictionary takes in one that is complete.
func (f *finder) dictionary(d *frame) {
	if d.encrypt && (d.root || d.kind == "XRef") {
		f.encrypted = true
	}
	switch {
	case d.action == "URI" && d.elsewhere:
		f.miss(UnreadElsewhere)
	case d.action != "URI" || !d.hasURI:
	case len(f.links) == MaxLinks:
		f.miss(UnreadLinks)
	default:
		f.links = append(f.links, d.uri)
	}
}

// stream passes over the bytes of a stream whose dictionary was d, and reads them if they are objects.
func (f *finder) stream(s *scanner, d *frame) {
	data := s.stream(d.length)
	if d.kind != "ObjStm" {
		return
	}
	switch {
	case d.filters == 0:
		if f.left -= int64(len(data)); f.left < 0 {
			f.left = 0
			f.miss(UnreadInflated)
			return
		}
	case d.filters > 1 || d.filter != "FlateDecode" && d.filter != "Fl" || d.predictor > 1:
		f.miss(UnreadFilter)
		return
	default:
		data = f.inflate(data)
	}
	f.read(data, true)
}

// inflate returns as much of data as may be inflated and is sound.
func (f *finder) inflate(data []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		f.miss(UnreadDamaged)
		return nil
	}
	var out bytes.Buffer
	for f.ctx.Err() == nil {
		n, err := io.CopyN(&out, z, min(maxStep, f.left+1))
		f.left -= n
		switch {
		case f.left < 0:
			f.miss(UnreadInflated)
			f.left = 0
			return out.Bytes()[:out.Len()-1]
		case errors.Is(err, io.EOF):
			return out.Bytes()
		case err != nil:
			f.miss(UnreadDamaged)
			return out.Bytes()
		}
	}
	return nil
}

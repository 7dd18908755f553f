package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is a PDF file of objects, as they are written.
func file(objects ...string) []byte {
	return []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + strings.Join(objects, "\n") + "\nstartxref\n0\n%%EOF\n")
}

// deflated is s as FlateDecode has it.
func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

// objects is an object stream.
func objects(dict, data string) string {
	return fmt.Sprintf("9 0 obj\n<< /Type /ObjStm /N 1 /First 4 %s /Length %d >>\nstream\r\n%s\nendstream\nendobj", dict, len(data), data)
}

const (
	flate  = "/Filter /FlateDecode"
	action = "1 0 <</S/URI/URI(http://a.test/)>>"
)

func TestFind(t *testing.T) {
	for rule, c := range map[string]struct {
		file   []byte
		links  string
		unread string
	}{
		"12.6.4.8: a URI action is a link": {
			file("5 0 obj << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (http://a.test/x) >> >> endobj"), "http://a.test/x", ""},
		"an action may be an object of its own, its keys in any order": {
			file("5 0 obj<</URI(http://a.test/x)/Type/Action/S/URI>>endobj"), "http://a.test/x", ""},
		"links stand in the order of the file, and may be repeated": {
			file("<</S/URI/URI(b)>>", "<</S/URI/URI(a)>>", "<</S/URI/URI(b)>>"), "b a b", ""},
		"text that looks like a URL is no link": {
			file("5 0 obj << /Title (http://a.test/) /Length 22 >> stream\n(http://a.test/) Tj    \nendstream endobj"), "", ""},
		"an action in the bytes of a stream is none": {
			file("5 0 obj << /Length 30 >> stream\n<</S/URI/URI(http://a.test/)>>  \nendstream endobj"), "", ""},
		"an action in a comment is none":                  {file("% <</S/URI/URI(http://a.test/)>>"), "", ""},
		"an action in a string is none":                   {file("5 0 obj (<</S/URI/URI(http://a.test/)>>) endobj"), "", ""},
		"other kinds of action are no links":              {file("<</S/GoToR/F(http://a.test/)>>", "<</S/JavaScript/JS(http://a.test/)>>"), "", ""},
		"the entry URI of the catalog is no link":         {file("<</Type/Catalog/URI<</Base(http://a.test/)>>>>"), "", ""},
		"a URI that is a reference is not read, and said": {file("<</S/URI/URI 7 0 R>>", "<</S/URI/URI(b)>>"), "b", UnreadElsewhere},
		"7.3.4.2: parentheses balance":                    {file("<</S/URI/URI(http://a.test/(x)(y(z)))>>"), "http://a.test/(x)(y(z))", ""},
		"7.3.4.2: escapes are resolved":                   {file(`<</S/URI/URI(a\(b\)\\\057\53c\n)>>`), "a(b)\\/+c\n", ""},
		"7.3.4.2: a line may go on":                       {file("<</S/URI/URI(http://a.test/\\\r\nx)>>"), "http://a.test/x", ""},
		"7.3.4.3: a string may be hexadecimal":            {file("<</S/URI/URI<61 2 F620>>>"), "a/b\x00", ""},
		"7.3.5: a name may have escapes":                  {file("<</#53/#55RI/U#52I(a)>>"), "a", ""},
		"7.5.7: object streams are read":                  {file(objects(flate, deflated(action))), "http://a.test/", ""},
		"so are those in an array of one filter":          {file(objects("/Filter [/FlateDecode]", deflated(action))), "http://a.test/", ""},
		"so are those without a filter":                   {file(objects("", action)), "http://a.test/", ""},
		"a length that is a reference is not used":        {file(strings.Replace(objects(flate, deflated(action)), "/Length ", "/Length 8 0 R /X ", 1)), "http://a.test/", ""},
		"a length that is wrong is not relied on":         {file(strings.Replace(objects(flate, deflated(action)), "/Length ", "/Length 1", 1)), "http://a.test/", ""},
		"another filter is not read, and said":            {file(objects("/Filter /LZWDecode", "x"), "<</S/URI/URI(b)>>"), "b", UnreadFilter},
		"two filters are not read, and said":              {file(objects("/Filter [/ASCIIHexDecode /FlateDecode]", "x")), "", UnreadFilter},
		"a predictor is not undone, and said":             {file(objects(flate+" /DecodeParms << /Predictor 12 >>", deflated("x"))), "", UnreadFilter},
		"a damaged object stream is said":                 {file(objects(flate, "no zlib"), "<</S/URI/URI(b)>>"), "b", UnreadDamaged},
		"what is sound of a stream cut off counts":        {file(objects(flate, strings.TrimSuffix(deflated(action), deflated(action)[len(deflated(action))-4:]))), "http://a.test/", UnreadDamaged},
		"an object stream has no streams":                 {file(objects(flate, deflated(objects(flate, deflated(action))))), "", ""},
		"7.6: an encrypted file has no links":             {file("<</S/URI/URI(\x01\x02)>>", "trailer << /Root 1 0 R /Encrypt 5 0 R >>"), "", UnreadEncrypted},
		"so says a cross-reference stream, too":           {file("<</S/URI/URI(x)>>", "7 0 obj << /Type /XRef /Encrypt << /V 4 >> /Length 1 >> stream\nx\nendstream endobj"), "", UnreadEncrypted},
		"Encrypt elsewhere says nothing":                  {file("<</S/URI/URI(x)/Encrypt 5 0 R>>"), "x", ""},
		"the header may stand a little behind":            {append([]byte("\n\n"), file("<</S/URI/URI(x)>>")...), "x", ""},
		"what is no PDF file is not read":                 {[]byte("<html><</S/URI/URI(x)>>"), "", UnreadNoPDF},
		"an empty file is none":                           {nil, "", UnreadNoPDF},
		"a file that ends anywhere is read so far":        {[]byte("%PDF-1.4\n<</S/URI/URI(x)>> << /A [ (http://a.te"), "x", ""},
		"what is not closed ends with its object":         {file("5 0 obj << /A [ endobj 6 0 obj <</S/URI/URI(x)>> endobj"), "x", ""},
		"a stray end is passed over":                      {file(">> ] >> <</S/URI ] /URI(x)>> >>"), "x", ""},
		"over 64 open objects, the rest is not":           {file("<</S/URI/URI(x)>>", strings.Repeat("[", 1<<20), "<</S/URI/URI(y)>>"), "x", UnreadDeep},
		"a flate bomb ends at the bound": {
			file(objects(flate, deflated("1 0 <</S/URI/URI(x)>>"+strings.Repeat(" ", MaxInflated))), objects(flate, deflated(action))), "x", UnreadInflated},
		"the bound is of all object streams together": {
			file(slices.Repeat([]string{objects(flate, deflated(strings.Repeat(" ", MaxInflated/4)))}, 5)...), "", UnreadInflated},
		"over 32 MiB nothing is read": {append(file("<</S/URI/URI(x)>>"), make([]byte, MaxSize)...), "", UnreadLarge},
	} {
		r, err := Find(t.Context(), c.file)
		if got := strings.Join(r.Links, " "); err != nil || got != c.links || r.Unread != c.unread {
			t.Errorf("%s: got %q, unread %q, %v; want %q, %q", rule, got, r.Unread, err, c.links, c.unread)
		}
	}
}

func TestFind_GivesOutNoMoreThanMaxLinks(t *testing.T) {
	r, err := Find(t.Context(), file(strings.Repeat("<</S/URI/URI(x)>>", MaxLinks+1)))
	if err != nil || len(r.Links) != MaxLinks || r.Unread != UnreadLinks {
		t.Errorf("%d links, unread %q, %v", len(r.Links), r.Unread, err)
	}
}

// done is a context that is done when it has been asked n times.
type done struct {
	context.Context
	n int
}

func (d *done) Err() error {
	if d.n--; d.n < 0 {
		return context.Canceled
	}
	return nil
}

func TestFind_EndsWhenItsContextIsDone(t *testing.T) {
	whole := file(strings.Repeat("<</S/URI/URI(x)>>\n", 40_000), objects(flate, deflated(strings.Repeat(" ", 8<<20))))
	for n := range 40 {
		if r, err := Find(&done{t.Context(), n}, whole); n < 10 && !errors.Is(err, context.Canceled) || err != nil && r.Links != nil {
			t.Fatalf("asked %d times: %d links, %v", n, len(r.Links), err)
		}
	}
}

func TestFind_ReadsFilesOfOthers(t *testing.T) {
	for name, want := range map[string]string{
		"chromium.pdf":   "https://example.org/a(b)?c=d&e=%C3%A9#f\nmailto:x@example.org\nhttp://example.com/two",
		"matplotlib.pdf": "https://example.org/plot",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Find(t.Context(), b)
		if got := strings.Join(r.Links, "\n"); err != nil || r.Unread != "" || got != want {
			t.Errorf("%s: got %q, unread %q, %v", name, got, r.Unread, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add(file("<</S/URI/URI(x\\051)>>", objects(flate, deflated(action)), "trailer << /Root 1 0 R >>"))
	f.Add(file("<</S/URI/URI<6>>>", "<< /Length 3 0 R >> stream\n x endstream"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 16<<10 {
			return
		}
		r, err := Find(t.Context(), b)
		if err != nil || r.Unread == UnreadPanic {
			t.Fatalf("unread %q, %v", r.Unread, err)
		}
		for _, l := range r.Links {
			if len(l) > maxKept {
				t.Fatalf("a link of %d bytes", len(l))
			}
		}
	})
}

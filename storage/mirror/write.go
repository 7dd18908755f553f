package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"curtsy/frontier/canon"
	"curtsy/storage/answer"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/script"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// maxDocument bounds a document that is searched for references, in bytes: as much as the crawler reads of a page.
const maxDocument = 10 << 20

// smallDocument is the size up to which documents are read concurrently.
const smallDocument = 512 << 10

// maxRewritten bounds the rewritten document.
const maxRewritten = 8 * maxDocument

type writer struct {
	*gatherer
	disk   *disk
	before *previous
	lines  *sorted.Sorter // of the map
	absent *absent

	scripts *script.Listing
	large   chan struct{} // full during the read of a large document: one at a time

	files, octets, written, shared, rewritten, unread, kept, stale, pages, redirects, nowhere atomic.Int64

	mu      sync.Mutex
	removed map[string]int64
	bad     map[*entry]state // unreadable responses: the tree must be planned without them
}

func (w *writer) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan *entry, 64)
	group.Go(func() error {
		defer close(work)
		for i := range w.plan.entries {
			select {
			case work <- &w.plan.entries[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() (err error) {
			var doc document
			defer func() { err = errors.Join(err, doc.from.Close()) }()
			for e := range work {
				if err := w.entry(ctx, e, &doc); err != nil {
					return fmt.Errorf("mirror: write %s: %w", e.key, err)
				}
				w.options.Progress.Written.Add(1)
			}
			return nil
		})
	}
	return group.Wait()
}

// entry writes an entry's file, if it owns it, and its line of the map. A redirect's line has no record.
func (w *writer) entry(ctx context.Context, e *entry, doc *document) error {
	to := w.plan.fileOf(e)
	if to == nil {
		return nil
	}
	line := Entry{URL: e.key, File: to.name, Status: int(e.status)}
	if e != to {
		w.redirects.Add(1)
		line.Redirect = to.key
		return w.list(line)
	}
	w.pages.Add(1)
	if s, ok := w.saved[e]; ok {
		line = s.line
		line.Older = string(Damaged)
		var err error
		if line.Size, err = w.again(e.name); err != nil {
			return err
		}
		w.files.Add(1)
		w.octets.Add(line.Size)
		return w.list(line)
	}
	switch {
	case e.flags&kept != 0:
		line.Older = string(Gone)
		w.kept.Add(1)
	case e.flags&stale != 0:
		line.Older = string(Failed)
		w.stale.Add(1)
	}
	src := &source{}
	in, err := doc.from.Lenient(w.segments[e.segment], warc.Stretch{Offset: e.offset, Length: e.length}, src.found)
	if err != nil {
		return err
	}
	src.in = in
	rec, err := in.Next()
	if err != nil {
		return err
	}
	date, err := rec.Date()
	if err != nil {
		return err
	}
	line.Type, line.Digest = e.kind.Value(), rec.Fields.Get("WARC-Payload-Digest")
	line.Record, line.Date = rec.ID(), dateOf(date)
	if seen := dateOf(time.UnixMicro(e.seen)); seen > line.Date && line.Older == "" {
		line.Seen = seen
	}
	if e.flags&owner != 0 {
		line.Size, line.Document, err = w.file(ctx, e, src, rec, date, doc)
		if state, damaged := damage(err); damaged {
			if wrong := src.whole(); wrong != nil { // not only its body is damaged
				e.flags |= unreadable
				w.cannotRead(place{e.segment, e.offset, e.length}, fmt.Errorf("%s: %w", e.key, wrong))
			}
			w.mu.Lock()
			w.bad[e] = state
			w.mu.Unlock()
			return nil
		}
		if err != nil {
			return err
		}
		w.files.Add(1)
		w.octets.Add(line.Size)
	}
	return w.list(line)
}

func (w *writer) list(line Entry) error {
	text, err := marshal(line)
	if err != nil {
		return err
	}
	return w.lines.Add([]byte(line.URL + "\t" + text)) // sorted by URL
}

type document struct {
	from warc.Places
	head bytes.Buffer
	text []byte // of the current document; strings found in it share its memory
}

// file writes the file of an entry, or shares it with the previous tree.
func (w *writer) file(ctx context.Context, e *entry, from *source, rec *warc.Record, date time.Time, doc *document) (
	size int64, read string, err error) {
	archived, err := answer.Read(rec, 0)
	if err != nil {
		return 0, "", asDamage(err)
	}
	decoded, err := archived.Body(w.options.maxBody())
	if err != nil {
		return 0, "", asDamage(err)
	}
	src := body{decoded}
	rewrite := rewriterOf(e.kind.Value(), e.name)
	kind := mediatype.Parse(e.kind.Value()).Name
	isModule := script.IsJavaScript(kind, e.name)
	if rewrite == nil && !script.Is(kind, e.name) {
		return w.copy(e, from, rec, src, date)
	}
	release, err := w.read(ctx, doc, src)
	if err != nil {
		return 0, "", err
	}
	defer release()
	whole := func() io.Reader { return io.MultiReader(bytes.NewReader(doc.text), src) }
	if rewrite == nil || isModule {
		if err := w.names(doc, e); err != nil {
			return 0, "", err
		}
	}
	rewrites := rewrite != nil && !isModule
	if rewrite != nil && isModule {
		script.Imports(doc.text, func(int, int, string) { rewrites = true })
	}
	if !rewrites {
		return w.copy(e, from, rec, whole(), date)
	}
	var out []byte
	if len(doc.text) <= maxDocument {
		if err := from.whole(); err != nil {
			return 0, "", err
		}
		if out, err = w.rewrite(e, rewrite, doc); err == nil {
			w.rewritten.Add(1)
			size, err := w.put(e.name, out, date)
			return size, Rewritten, err
		}
		if errors.Is(err, errOurs) {
			return 0, "", err
		}
	}
	w.unread.Add(1)
	size, _, err = w.copy(e, from, rec, whole(), date)
	return size, Unread, err
}

// read reads a document, at most maxDocument bytes and one. A large one waits for its turn, which release ends.
func (w *writer) read(ctx context.Context, doc *document, src io.Reader) (release func(), err error) {
	doc.head.Reset()
	_, err = io.CopyN(&doc.head, src, smallDocument)
	if errors.Is(err, io.EOF) {
		doc.text = bytes.Clone(doc.head.Bytes())
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	select {
	case w.large <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b := bytes.NewBuffer(append(make([]byte, 0, maxDocument+1+bytes.MinRead), doc.head.Bytes()...))
	_, err = io.CopyN(b, src, maxDocument+1-smallDocument)
	doc.text = b.Bytes()
	release = func() {
		doc.text = nil
		<-w.large
	}
	if err != nil && !errors.Is(err, io.EOF) {
		release()
		return nil, err
	}
	return release, nil
}

func (w *writer) names(doc *document, e *entry) error {
	u, err := canon.Parse(e.key)
	if err != nil {
		return err
	}
	if err := w.scripts.Read(doc.text, u, e.name); err != nil {
		return fmt.Errorf("%w: %w", errOurs, err)
	}
	return nil
}

// errOurs marks errors that are not a document's.
var errOurs = errors.New("list missing files")

func (w *writer) rewrite(e *entry, rewrite markup.Rewriter, doc *document) ([]byte, error) {
	u, err := canon.Parse(e.key)
	if err != nil {
		return nil, err
	}
	var failed error
	missing := func(to canon.URL, embed bool) {
		by := byLink
		if embed {
			by = byEmbed
		}
		failed = errors.Join(failed, w.absent.add(to, by, e.name))
	}
	link := linker{plan: w.plan, url: u, file: e.name, previews: w.options.Previews,
		missing: missing, loads: func(of canon.URL) {
			failed = errors.Join(failed, w.scripts.Loads(u, of))
		}, nowhere: func() { w.nowhere.Add(1) }}
	out, err := rewrite(doc.text, markup.Options{
		URL: u, ContentType: e.kind.Value(), RemoveBase: true, RemovePolicy: true, Declare: true, Previews: true,
		Removed: func(r markup.Removal) {
			what := strings.ToLower(strings.Clone(r.Element) + " " + r.Attr)
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, has := w.removed[what]; !has && len(w.removed) >= maxNotes {
				what = "other" // a document may invent any number of names
			}
			w.removed[what]++
		},
		Most: maxRewritten,
		Script: func(text, kind string, base canon.URL) {
			if script.IsElement(kind) {
				failed = errors.Join(failed, w.scripts.Read([]byte(text), base, e.name))
			}
		},
	}, link.visit)
	if failed != nil {
		return nil, fmt.Errorf("%w: %w", errOurs, failed)
	}
	return out, err
}

// put writes a file with known bytes, unless the previous tree has the same.
func (w *writer) put(name string, octets []byte, date time.Time) (int64, error) {
	size := int64(len(octets))
	if fi := w.old(name); fi != nil && fi.Size() == size && fi.ModTime().Equal(date) &&
		w.disk.equal(name, octets) {
		if done, err := w.share(name); done || err != nil {
			return size, err
		}
	}
	w.written.Add(1)
	return size, w.disk.create(name, date, func(f *os.File) error {
		_, err := f.Write(octets)
		return err
	})
}

// copy writes a body as it is. The previous file is the same if it has the same name and record, and still the record's
// date: any edit changes that.
func (w *writer) copy(e *entry, from *source, rec *warc.Record, src io.Reader,
	date time.Time) (size int64, read string, err error) {
	if fi := w.old(e.name); fi != nil && fi.ModTime().Equal(date) && fi.Size() <= w.options.maxBody() &&
		w.before.has(e.name, rec) {
		if done, err := w.share(e.name); done || err != nil {
			return fi.Size(), "", err
		}
	}
	w.written.Add(1)
	err = w.disk.create(e.name, date, func(f *os.File) error {
		if size, err = io.Copy(f, src); err != nil {
			return err
		}
		return from.whole()
	})
	return size, "", err
}

// again links or copies a file of the previous tree into the new one and returns its size.
func (w *writer) again(name string) (int64, error) {
	fi := w.disk.old(name)
	if fi == nil {
		return 0, fmt.Errorf("the mirror before lacks its file %s", name)
	}
	shared, err := w.disk.again(name, fi)
	if shared {
		w.shared.Add(1)
	} else {
		w.written.Add(1)
	}
	return fi.Size(), err
}

// old returns a previous file that may be shared, or nil.
func (w *writer) old(name string) os.FileInfo {
	if w.options.Fresh {
		return nil
	}
	return w.disk.old(name)
}

func (w *writer) share(name string) (bool, error) {
	done, err := w.disk.share(name)
	if done {
		w.shared.Add(1)
	}
	return done, err
}

// rewriterOf returns the rewriter of a media type, or nil if files are copied as they are. Servers often name no or a
// wrong type for web manifests, so the file's name counts.
func rewriterOf(contentType, file string) markup.Rewriter {
	base := path.Base(strings.ToLower(file))
	if script.IsJavaScript(mediatype.Parse(contentType).Name, base) {
		return markup.Module // for modules with imports
	}
	switch mediatype.Parse(contentType).Name {
	case "application/json", "text/json", "text/plain", "application/octet-stream":
		if base == "manifest.json" || path.Ext(base) == ".webmanifest" {
			return markup.Manifest
		}
	case "":
		if path.Ext(base) == ".css" {
			return markup.CSS
		}
	case "text/html":
		return markup.HTML
	case "application/xhtml+xml":
		return markup.XHTML
	case "text/css":
		return markup.CSS
	case "image/svg+xml":
		return markup.SVG
	case "application/manifest+json":
		return markup.Manifest
	case "text/xml", "application/xml", "text/xsl", "application/xslt+xml":
		return markup.XML
	}
	return nil
}

type linker struct {
	plan     *plan
	url      canon.URL // of the document
	file     string    // its name
	previews bool      // missing previews are listed
	missing  func(url canon.URL, embed bool)
	loads    func(script canon.URL) // the document loads a script
	nowhere  func()                 // a reference was replaced by nowhere
}

// visit is a markup.Visit: references to files of the mirror become relative, others absolute.
func (l *linker) visit(ref markup.Ref) (replacement string, replace bool) {
	if ref.Role == markup.Base {
		return "", false
	}
	u, err := ref.URL()
	if err != nil {
		return l.unusual(ref, canon.ReasonOf(err))
	}
	fragment := escaped(ref.Fragment(), fragmentSafe)
	if u.Key() == l.url.Key() && strings.HasPrefix(strings.TrimLeft(ref.Raw, " \t\n\f\r"), "#") {
		return fragment, ref.Base.Key() != l.url.Key()
	}
	if ref.Role == markup.Service {
		return u.String() + fragment, true // only the site can answer
	}
	if ref.Role == markup.Script {
		l.loads(u)
	}
	if e, ok := l.plan.find(u.Key()); ok {
		if file := l.plan.fileOf(e); file != nil {
			if place := l.plan.placeOf(e); place != "" {
				fragment = place // it overrides the link's (Fetch 4.4)
			}
			return relative(l.file, file.name) + fragment, true
		}
	}
	if ref.Role != markup.Query && (ref.Role != markup.Preview || l.previews) {
		l.missing(u, ref.Role.Requisite() || ref.Role == markup.Lazy)
	}
	return u.String() + fragment, true
}

// nowhere is a reference that leads nowhere.
const nowhere = "about:invalid"

// unusual decides on a reference without canonical URL. Absolute ones stay: mailto:, data:, and those that no browser can
// read. Relative ones must not, since they would be relative to the mirror.
func (l *linker) unusual(ref markup.Ref, reason canon.Reason) (replacement string, replace bool) {
	raw := strings.Trim(ref.Raw, " \t\n\f\r")
	base := ref.Base
	if ref.Role.Requisite() && isFileURL(raw) {
		l.nowhere()
		return nowhere, true // a browser refuses it to a web page, but not to a copy on disk
	}
	if base.IsZero() {
		if _, err := l.url.Resolve(raw); canon.ReasonOf(err) == canon.Scheme || canon.ReasonOf(err) == canon.NoHost {
			return "", false
		}
		l.nowhere()
		return nowhere, true // the page's base is not on the web
	}
	if reason != canon.TooLong {
		return "", false
	}
	if b, err := url.Parse(base.String()); err == nil {
		if u, err := b.Parse(raw); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return escaped(u.String(), tooLongSafe), true
		}
	}
	l.nowhere()
	return nowhere, true
}

// isFileURL reports whether a browser reads s as a file: URL. Browsers drop tabs and line ends (URL Standard 4.4).
func isFileURL(s string) bool {
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s[:min(len(s), 64)])
	return len(s) >= len("file:") && strings.EqualFold(s[:len("file:")], "file:")
}

// relative returns the reference from a file to another, both slash-separated paths in the mirror.
func relative(from, to string) string {
	common := 0
	for i := 0; i < len(from) && i < len(to) && from[i] == to[i]; i++ {
		if from[i] == '/' {
			common = i + 1
		}
	}
	to = escaped(to[common:], pathSafe)
	if up := strings.Count(from[common:], "/"); up > 0 {
		return strings.Repeat("../", up) + to
	}
	return to
}

// Characters without escape in a reference. In a path they are few, so that it fits any attribute, srcset and style sheet.
var (
	pathSafe     = octets("-._~@=+/")
	fragmentSafe = octets("-._~@=+/#%!$&*:;?|^[]{}`,()")
	tooLongSafe  = octets("-._~@=+/#%!$&*:;?|^[]{}`,()'")
)

// octets is the set of letters, digits and these bytes.
func octets(these string) *[256]bool {
	var set [256]bool
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + these) {
		set[c] = true
	}
	return &set
}

func escaped(s string, safe *[256]bool) string {
	ready := 0
	for ready < len(s) && safe[s[ready]] {
		ready++
	}
	if ready == len(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if safe[s[i]] {
			b.WriteByte(s[i])
		} else {
			layout.Escape(&b, s[i])
		}
	}
	return b.String()
}

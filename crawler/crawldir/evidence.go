package crawldir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/cdxj"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/optout"
	"curtsy/storage/warc"
)

// evidence is the archive, its index and the ledger of a crawl directory.
type evidence struct {
	archive *warc.Writer
	index   *cdxj.Store
	ledger  *ledger.Writer

	finished ledger.Finished // has the ledger say which files are complete
	dry      bool            // a dry run, of which nothing is kept: its ledger is not signed
}

// open opens archive, index and ledger of a directory whose frontier is held. A kill's torn tails are cut off
// archive and ledger, and said. Payloads that the indexes of earlier crawls know are not archived again. An error leaves
// open what could be opened.
func (e *evidence) open(ctx context.Context, dir string, info warc.Info, earlier []string, lists *optout.Watch,
	say func(Note)) (err error) {
	if e.index, err = OpenIndex(ctx, dir, earlier, e.finished.In(IndexName), say); err != nil {
		return err
	}
	settings := info.Fields.Get(configDigest)
	inForce := lists.Lists()
	optOuts, _ := digestOf(inForce)
	info.Fields = withLists(info.Fields, inForce)
	info.Fields = append(slices.Clip(info.Fields), warc.Field{Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
	e.archive, err = warc.Open(warc.Options{Dir: in(dir, ArchiveName), Name: "curtsy", Info: info, Index: e.index,
		Originals: e.index, Finished: e.finished.In(ArchiveName)})
	if err != nil {
		return err
	}
	o := ledger.Options{Warcinfo: e.archive.InfoSHA256(), SettingsSHA256: settings, OptOutsSHA256: optOuts}
	if e.ledger, err = openLedger(dir, o, e.dry, say); err != nil {
		return err
	}
	lists.Tell(e.listed)
	if now := lists.Lists(); !slices.Equal(now, inForce) { // nobody was told of it
		e.listed(now)
	}
	killed := e.ledger.Killed()
	if err := e.finished.Open(e.ledger); err != nil {
		return err
	}
	if killed {
		if err := e.tellLast(ctx, dir); err != nil {
			return err
		}
	}
	for _, cut := range []func() (string, int64){e.archive.Cut, e.ledger.Cut} {
		if file, n := cut(); n > 0 {
			plain(say)("%s: incomplete after the last stop; %d bytes of an unfinished record were removed", file, n)
		}
	}
	return nil
}

// tellLast has the ledger know the last file of archive and index that is complete: a kill may have come between it and
// its mark. Those before it have theirs, for a file is told of before the next begins.
func (e *evidence) tellLast(ctx context.Context, dir string) error {
	last := ""
	archived, err := Entries(in(dir, ArchiveName), "curtsy-", "")
	for _, path := range archived {
		if base, ok := strings.CutSuffix(filepath.Base(path), ".warc.gz"); ok {
			last = base
		}
	}
	if err != nil || last == "" {
		return err
	}
	files := []string{ArchiveName + "/" + last + ".warc.gz", IndexName + "/" + last + ".cdxj"}
	told, err := ledger.Told(in(dir, LedgerName), files...)
	if err != nil {
		return err
	}
	for _, name := range files {
		if told[name] {
			continue
		}
		octets, sum, err := durable.Digest(ctx, in(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			folder, base, _ := strings.Cut(name, "/")
			err = e.finished.In(folder)(base, octets, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listed notes that the lists of opt-outs have changed. Who asks them waits: a failure is for the next line to say.
func (e *evidence) listed(lists []*optout.List) {
	if digest, entries := digestOf(lists); digest != "" {
		_ = e.ledger.OptOuts(context.Background(), digest, entries) // the Writer keeps why it takes nothing more
	}
}

// withLists are the fields of a warcinfo record with the lists of opt-outs that are in force, which the mark of the run
// binds, too, in place of those that were when the fields were made.
func withLists(fields warc.Fields, inForce []*optout.List) warc.Fields {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f warc.Field) bool { return f.Name == listDigest })
	for _, l := range inForce {
		sum := l.Digest()
		fields = append(fields, warc.Field{Name: listDigest, Value: hex.EncodeToString(sum[:])})
	}
	return fields
}

// digestOf is what a ledger binds of the lists of opt-outs: the SHA-256 of the one that there is, or that of the SHA-256s
// of several, in their order. It is empty without a list. entries are those of all.
func digestOf(lists []*optout.List) (digest string, entries int64) {
	var all []byte
	for _, l := range lists {
		sum := l.Digest()
		all = append(all, sum[:]...)
		entries += int64(len(l.Entries()))
	}
	if len(lists) > 1 {
		sum := sha256.Sum256(all)
		all = sum[:]
	}
	return hex.EncodeToString(all), entries
}

func (e *evidence) close() error {
	var errs []error
	if e.archive != nil {
		errs = append(errs, e.archive.Close())
	}
	if e.index != nil { // after the archive, which completes it
		errs = append(errs, e.index.Close())
	}
	if e.ledger != nil {
		errs = append(errs, e.ledger.Close())
	}
	return errors.Join(errs...)
}

// OpenIndex opens the index of the crawl in dir, and those of earlier crawls. What of it must be made first may be broken
// off by ctx.
// finished is told each file of it that is complete; nil for nobody.
func OpenIndex(ctx context.Context, dir string, earlier []string, finished func(string, int64, [32]byte) error,
	say func(Note)) (*cdxj.Store, error) {
	var files []string
	for _, path := range earlier {
		of, err := IndexFiles(path)
		if err != nil {
			return nil, fmt.Errorf("--dedup %s: %w", path, err)
		}
		files = append(files, of...)
	}
	if _, err := os.Stat(in(dir, IndexName)); errors.Is(err, fs.ErrNotExist) {
		if archived, err := Entries(in(dir, ArchiveName), "", ""); err == nil && len(archived) > 0 {
			plain(say)("%s is missing: rebuilding it from the archive", in(dir, IndexName))
		}
	}
	index, err := cdxj.Open(ctx, dir, cdxj.Options{Earlier: files, Finished: finished})
	if err != nil || say == nil {
		return index, err
	}
	for _, what := range index.Damaged() {
		say(Note{IndexDamaged, fmt.Sprint(what)})
	}
	for _, note := range index.Notes() {
		plain(say)("--dedup %s", note)
	}
	return index, nil
}

// openLedger opens the ledger of a crawl directory with the user's key. A key that cannot be had is no reason not to
// crawl: the log is the same without it. What had to be repaired is said. A dry run neither signs nor keeps a checkpoint.
func openLedger(dir string, o ledger.Options, dry bool, say func(Note)) (*ledger.Writer, error) {
	o.Dir, o.Software = in(dir, LedgerName), "curtsy/"+Version
	if dry {
		return ledger.Open(o)
	}
	signer, rotations, err := LedgerSigner(true)
	if err == nil {
		o.Signer, o.Rotations = signer, Notes(rotations)
	} else {
		plain(say)("the checkpoints of the ledger are not signed: %v", err)
	}
	was, err := ledger.Origin(in(dir, LedgerName))
	begins := err == nil && was == "" // else to open it says what is wrong
	o.Keep = keepHeads(dir, say)
	w, err := ledger.Open(o)
	if err != nil {
		return nil, err
	}
	if begins {
		keepBegun(dir, w.Origin(), say)
	}
	for _, what := range w.Repairs() {
		plain(say)("%s", what)
	}
	return w, nil
}

// LedgerSigner returns the user's key of ledgers, and how it took the place of earlier ones. If there is none, it is made
// if create says so; otherwise it is nil. An error about the rotations comes with the key.
func LedgerSigner(create bool) (*checkpoint.Signer, []Rotation, error) {
	path, err := LedgerKey.Path()
	if err != nil {
		return nil, nil, err
	}
	read := LedgerKey.Read
	if create {
		read = LedgerKey.Make
	}
	seed, err := read(path)
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	signer, err := checkpoint.NewSigner(seed)
	if err != nil {
		return nil, nil, err
	}
	rotations, err := Rotations(path, signer.Key())
	return signer, rotations, err
}

// Notes are the notes of rotations.
func Notes(rotations []Rotation) (notes [][]byte) {
	for _, r := range rotations {
		notes = append(notes, r.Note)
	}
	return notes
}

func (e *evidence) tellQuarantined(ctx context.Context, f frontier.Engine) error {
	all, err := f.Quarantined(ctx)
	if err != nil {
		return err
	}
	return record.Quarantined(ctx, e.archive, e.ledger, all)
}

// replaceSettings writes the settings of a crawl anew. Those before are kept until a run has begun: the ledger's mark of
// the last run binds them, and a kill may come before the next.
func replaceSettings(dir string, config []byte) error {
	was, err := durable.ReadFile(in(dir, ConfigName))
	if err == nil {
		err = durable.WriteFile(in(dir, fmt.Sprintf("%s%.8x", ConfigBefore, sha256.Sum256(was))), was, 0o666)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the settings before: %w", err)
	}
	return durable.WriteFile(in(dir, ConfigName), config, 0o666)
}

// RememberLayout has the runs that follow lay out the mirror so. Nobody may run the crawl meanwhile.
func RememberLayout(dir string, l layout.Layout) error {
	s, err := ReadSettings(dir)
	if err != nil || s.MirrorLayout() == l {
		return err
	}
	s.Layout, s.Cut = l.Kind, int64(l.Cut)
	return Remember(dir, &s)
}

// Remember has the runs that follow use these settings. Nobody may run the crawl meanwhile.
func Remember(dir string, s *Settings) error {
	config, err := s.TOML()
	if err != nil {
		return err
	}
	if was, err := durable.ReadFile(in(dir, ConfigName)); err == nil && bytes.Equal(was, config) {
		return nil
	}
	return replaceSettings(dir, config)
}

// beginning is the ledger of a run. Its mark of the run binds the settings, so those before have had their use.
type beginning struct {
	*ledger.Writer
	dir   string
	begun *atomic.Bool
}

// Begin implements storage.Ledger.
func (b beginning) Begin(ctx context.Context) error {
	if err := b.Writer.Begin(ctx); err != nil {
		return err
	}
	b.begun.Store(true)
	return removeBefore(b.dir)
}

// removeBefore removes the settings before, once the ledger binds those in force.
func removeBefore(dir string) error {
	paths, err := Entries(dir, ConfigBefore, "")
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// checkDedup refuses earlier indexes that are not there. Their paths become absolute: resume may be called elsewhere.
func (s *Settings) checkDedup() error {
	for i, path := range s.Dedup {
		var err error
		if s.Dedup[i], err = filepath.Abs(path); err != nil {
			return misuse("--dedup %s: %w", path, err)
		}
		if _, err := IndexFiles(s.Dedup[i]); err != nil {
			return misuse("--dedup %s: %w", path, err)
		}
	}
	return nil
}

// IndexFiles returns the files that path means: itself, or those of an index folder or of a crawl directory.
func IndexFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return []string{path}, nil
	}
	for _, dir := range []string{in(path, IndexName), path} {
		files, err := cdxj.Files(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = Complete(files)
		if len(files) > 0 {
			return files, nil
		}
	}
	return nil, &DirError{path, ErrNoIndex, "no CDXJ file in it"}
}

// Complete leaves out the journals of segments that are being written.
func Complete(files []string) (done []string) {
	for _, path := range files {
		if !strings.HasSuffix(path, ".open") {
			done = append(done, path)
		}
	}
	return done
}

// PolitenessFields say in the archive what the crawl keeps to, so that who audits it need not ask.
func (s *Settings) PolitenessFields() warc.Fields {
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	fields := warc.Fields{
		{Name: "product-token", Value: s.Agent},
		{Name: "pace-floor-ms", Value: millis(max(s.Delay, crawler.Floor))},
		{Name: "ip-delay-ms", Value: millis(s.IPDelay)},
		{Name: "max-crawl-delay-ms", Value: millis(s.MaxCrawlDelay)},
		{Name: "own-sites", Value: strings.Join(s.OwnSite, ", ")},
		{Name: "exchanges-at-once", Value: strconv.Itoa(crawler.AtOnce(int(s.Workers)))},
		{Name: "keep-noarchive", Value: strconv.FormatBool(s.KeepNoArchive)},
	}
	if s.LinkCheck {
		fields = append(fields, warc.Field{Name: "own-site-failures", Value: "findings"})
	}
	if w, err := hostrule.ParseSpans(s.Window); err == nil {
		for _, text := range w.Texts() {
			fields = append(fields, warc.Field{Name: "window", Value: text})
		}
	}
	for _, r := range s.Hosts {
		if r.Delay > 0 {
			fields = append(fields, warc.Field{Name: "host-delay-ms", Value: millis(r.Delay) + " " + r.Name()})
		}
	}
	fields = append(fields, s.hostFields()...)
	for _, said := range s.declareProxies() {
		fields = append(fields, warc.Field{Name: "proxy", Value: said})
	}
	if set, err := s.credentials(); err == nil { // else FetchConfig has said why
		for _, said := range declareCredentials(set) {
			fields = append(fields, warc.Field{Name: "credentials", Value: said})
		}
	}
	for _, v := range s.lists.Versions() {
		fields = append(fields, warc.Field{Name: listDigest, Value: v.SHA256})
	}
	return fields
}

// hostFields say which hours and how many requests in a day the crawl keeps to, for an audit to hold it to.
func (s *Settings) hostFields() (fields warc.Fields) {
	if s.PerHostPerDay > 0 {
		fields = append(fields, warc.Field{Name: "host-per-day", Value: fmt.Sprint(s.PerHostPerDay, " ", everyHost)})
	}
	for _, r := range s.Hosts {
		if r.PerHostPerDay > 0 {
			fields = append(fields, warc.Field{Name: "host-per-day", Value: fmt.Sprint(r.PerHostPerDay, " ", r.Name())})
		}
		if len(r.Hours) > 0 {
			fields = append(fields, warc.Field{Name: "host-hours", Value: strings.ReplaceAll(strings.Join(r.Hours, ","), " ", "") + " " + r.Name()})
		}
	}
	return fields
}

// configDigest is the field of the archive that binds the settings; the ledger has the same.
const configDigest = "config-sha256"

// listDigest is the field of the archive that names a list of opt-outs.
const listDigest = "opt-out-sha256"

// archiveInfo is what the archive in dir says of the crawl: the settings are those in config, or in the directory. A dry
// run has no key of the ledger, which is not signed.
func (s *Settings) archiveInfo(dir string, config []byte, dry bool) (warc.Info, error) {
	if config == nil {
		var err error
		if config, err = durable.ReadFile(in(dir, ConfigName)); err != nil {
			return warc.Info{}, fmt.Errorf("read the settings of the crawl: %w", err)
		}
	}
	sum := sha256.Sum256(config)
	info := s.WARCInfo()
	info.Fields = append(info.Fields, warc.Field{Name: configDigest, Value: hex.EncodeToString(sum[:])})
	if dry {
		return info, nil
	}
	if key := VerifierKey(); key != "" {
		info.Fields = append(info.Fields, warc.Field{Name: "ledger-key", Value: key})
	}
	return info, nil
}

// VerifierKey is the key that the ledger of a run which begins now is checked with. It is made if there is none; empty where no key can be had, which
// the opening of the ledger says.
func VerifierKey() string {
	signer, _, _ := LedgerSigner(true)
	if signer == nil {
		return ""
	}
	return signer.VerifierKey()
}

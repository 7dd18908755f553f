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

type evidence struct {
	archive *warc.Writer
	index   *cdxj.Store
	ledger  *ledger.Writer

	finished ledger.Finished // has the ledger record which files are complete
	dry      bool            // keep no checkpoint, and do not sign the ledger
}

// open opens archive, index and ledger of a directory whose frontier the caller holds. It cuts off ends that a kill tore,
// with a note. Payloads in the indexes of earlier crawls are not archived again. On an error, files stay open.
func (e *evidence) open(ctx context.Context, dir string, info warc.Info, earlier []string, lists *optout.Watch,
	say func(Note)) (err error) {
	if e.index, err = OpenIndex(ctx, dir, earlier, e.finished.In(IndexName), say); err != nil {
		return err
	}
	settings := info.Fields.Get(configDigest)
	inForce := lists.Lists()
	optOuts, _ := digestOf(inForce)
	// The archive names the lists in force now, as the mark of the run does, not those of when the fields were made.
	info.Fields = slices.DeleteFunc(slices.Clone(info.Fields), func(f warc.Field) bool { return f.Name == listDigest })
	for _, l := range inForce {
		sum := l.Digest()
		info.Fields = append(info.Fields, warc.Field{Name: listDigest, Value: hex.EncodeToString(sum[:])})
	}
	info.Fields = append(info.Fields, warc.Field{Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
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
	if now := lists.Lists(); !slices.Equal(now, inForce) { // they changed before Tell
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

// tellLast marks the last complete file of archive and index in the ledger, since a kill may have come before its mark.
// Earlier files have their marks: each is marked before the next begins.
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

// listed records changed opt-out lists. Their reader waits for it, so the next line reports a failure.
func (e *evidence) listed(lists []*optout.List) {
	if digest, entries := digestOf(lists); digest != "" {
		_ = e.ledger.OptOuts(context.Background(), digest, entries) // the Writer keeps the error
	}
}

// digestOf returns the digest that a ledger binds: the SHA-256 of the only list, or of the SHA-256s of several, in order;
// empty without a list. entries counts those of all lists.
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

// OpenIndex opens the index of the crawl in dir, and those of earlier crawls. finished receives each complete file; it may be nil.
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

// openLedger opens the ledger of a crawl directory with the user's key. Without the key the crawl also runs: the log
// is identical. Repairs are notes. A dry run neither signs nor keeps a checkpoint.
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
	begins := err == nil && was == "" // ledger.Open reports the error
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

// LedgerSigner returns the user's ledger key and its rotations. If the key is missing, create makes it; otherwise the signer
// is nil. An error about the rotations comes with the signer.
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

// Notes returns the notes of rotations.
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

// replaceSettings replaces the settings of a crawl. It keeps the old ones until a run has begun, because the last mark in the
// ledger binds them, and a kill may come before the next mark.
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

// RememberLayout changes the mirror's layout for later runs. The caller makes sure that no run is active.
func RememberLayout(dir string, l layout.Layout) error {
	s, err := ReadSettings(dir)
	if err != nil || s.MirrorLayout() == l {
		return err
	}
	s.Layout, s.Cut = l.Kind, int64(l.Cut)
	return Remember(dir, &s)
}

// Remember changes the settings for later runs. The caller makes sure that no run is active.
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

// beginning is the ledger of a run. It removes the old settings once a mark binds the new ones.
type beginning struct {
	*ledger.Writer
	dir   string
	begun *atomic.Bool
}

func (b beginning) Begin(ctx context.Context) error {
	if err := b.Writer.Begin(ctx); err != nil {
		return err
	}
	b.begun.Store(true)
	return removeNamed(b.dir, ConfigBefore)
}

func removeNamed(dir, prefix string) error {
	paths, err := Entries(dir, prefix, "")
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// checkDedup refuses missing indexes. Paths become absolute, because resume may run in another directory.
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

// IndexFiles returns path itself, or the files of the index folder or crawl directory at path.
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

// Complete returns files without the journals of unfinished segments.
func Complete(files []string) (done []string) {
	for _, path := range files {
		if !strings.HasSuffix(path, ".open") {
			done = append(done, path)
		}
	}
	return done
}

// PolitenessFields returns the archive's record of the politeness settings, for audits.
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
	if set, err := s.credentials(); err == nil { // else FetchConfig has reported the error
		for _, said := range declareCredentials(set) {
			fields = append(fields, warc.Field{Name: "credentials", Value: said})
		}
	}
	for _, v := range s.lists.Versions() {
		fields = append(fields, warc.Field{Name: listDigest, Value: v.SHA256})
	}
	return fields
}

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

// configDigest is the archive's field that binds the settings, as the ledger does.
const configDigest = "config-sha256"

const listDigest = "opt-out-sha256"

// archiveInfo returns the warcinfo fields for the settings in config, or those in dir if config is nil.
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

// VerifierKey returns the key that verifies the ledger of a run that begins now. It makes a missing key, and returns "" if
// the key is unavailable, which opening the ledger reports.
func VerifierKey() string {
	signer, _, _ := LedgerSigner(true)
	if signer == nil {
		return ""
	}
	return signer.VerifierKey()
}

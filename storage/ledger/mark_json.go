package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// object is a JSON object that is being written, without its closing brace.
type object []byte

func (o *object) name(name string) { *o = append(append(append(*o, `,"`...), name...), `":`...) }

func (o *object) text(name, s string) {
	o.name(name)
	*o = storage.AppendString(*o, s)
}

func (o *object) optional(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) number(name string, n int64) {
	o.name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

// list appends an array, of which each appends one element.
func list[T any](o *object, name string, all []T, each func(o *object, v T)) {
	o.name(name)
	*o = append(*o, '[')
	for i, v := range all {
		if i > 0 {
			*o = append(*o, ',')
		}
		each(o, v)
	}
	*o = append(*o, ']')
}

// appendMark appends m as an object.
func appendMark(b []byte, m *Mark) []byte {
	o := object(append(append(append(b, markStart...), m.Kind...), '"'))
	if m.Kind != KindBegin {
		o.text("time", m.Time.UTC().Format(timeForm))
	}
	switch m.Kind {
	case KindBegin:
		o.number("schema", int64(m.Schema))
		o.number("segment", int64(m.Segment))
		o.number("first", m.First)
		o.number("lines", m.Lines)
		o.text("origin", m.Origin)
		o.optional("software", m.Software)
	case KindRun:
		o.number("cut", m.Cut)
		if m.Killed {
			o = append(o, `,"killed":true`...)
		}
		if m.ClockBack > 0 {
			o.number("clock_back_us", m.ClockBack.Microseconds())
		}
		o.optional("warcinfo_sha256", m.Warcinfo)
		o.optional("settings_sha256", m.Settings)
		o.optional("optouts_sha256", m.OptOuts)
		o.optional("key", m.Key)
	case KindHosts:
		o.number("size", m.Size)
		o.number("hosts", m.Hosts)
		o.text("root", m.Root.String())
	case KindFile:
		o.text("name", m.Name)
		o.number("octets", m.Octets)
		o.text("sha256", m.SHA256)
	case KindOptOuts:
		o.text("sha256", m.SHA256)
		o.number("entries", m.Entries)
	case KindKey:
		o.text("note", m.Note)
	case KindRedaction:
		appendRedaction(&o, m.Redaction)
	case KindOperator:
		m.Operator.appendTo(&o)
	case KindFleet:
		m.Fleet.appendTo(&o)
	case KindStop:
		o.number("lines", m.Lines)
	}
	return append(o, '}')
}

func appendRedaction(o *object, r *Redaction) {
	o.text("extent", r.Extent)
	o.text("reason", r.Reason)
	o.text("subject_sha256", r.Subject)
	list(o, "records", r.Records, func(o *object, r RedactedRecord) {
		*o = append(*o, `{"id":`...)
		*o = storage.AppendString(*o, r.ID)
		o.text("blocks", r.Blocks)
		*o = append(*o, '}')
	})
	list(o, "entries", r.Entries, func(o *object, i int64) { *o = strconv.AppendInt(*o, i, 10) })
	list(o, "files", r.Files, func(o *object, f RedactedFile) {
		*o = append(*o, `{"name":`...)
		*o = storage.AppendString(*o, f.Name)
		o.number("octets", f.Octets)
		o.text("sha256", f.SHA256)
		o.text("before_sha256", f.Before)
		*o = append(*o, '}')
	})
}

func (f *Fleet) appendTo(o *object) {
	slot := func(o *object, id int) { *o = strconv.AppendInt(*o, int64(id), 10) }
	o.text("crawl", f.Crawl)
	o.text("dir", f.Dir)
	list(o, "taken", f.Taken, slot)
	list(o, "given", f.Given, slot)
	list(o, "members", slices.Sorted(maps.Keys(f.Members)), func(o *object, dir string) {
		*o = append(*o, `{"dir":`...)
		*o = storage.AppendString(*o, dir)
		o.text("name", f.Members[dir])
		*o = append(*o, '}')
	})
	o.text("asked", f.Asked.UTC().Format(timeForm))
	o.text("server", f.Server.UTC().Format(timeForm))
}

// markJSON is a mark as it is read. Pointers are of what must be there.
type markJSON struct {
	Mark      string           `json:"mark"`
	Time      *time.Time       `json:"time"`
	Schema    int              `json:"schema"`
	Segment   int              `json:"segment"`
	First     *int64           `json:"first"`
	Lines     *int64           `json:"lines"`
	Origin    string           `json:"origin"`
	Software  string           `json:"software"`
	Cut       int64            `json:"cut"`
	Killed    bool             `json:"killed"`
	ClockBack int64            `json:"clock_back_us"`
	Warcinfo  string           `json:"warcinfo_sha256"`
	Settings  string           `json:"settings_sha256"`
	OptOuts   string           `json:"optouts_sha256"`
	Key       string           `json:"key"`
	Size      *int64           `json:"size"`
	Hosts     int64            `json:"hosts"`
	Root      *hostmap.Hash    `json:"root"`
	Name      string           `json:"name"`
	Octets    int64            `json:"octets"`
	SHA256    string           `json:"sha256"`
	Entries   json.RawMessage  `json:"entries"`
	Note      string           `json:"note"`
	Act       string           `json:"act"`
	About     string           `json:"about"`
	URLs      int64            `json:"urls"`
	Whom      string           `json:"whom"`
	Delay     int64            `json:"delay_ms"`
	Extent    string           `json:"extent"`
	Reason    string           `json:"reason"`
	Subject   string           `json:"subject_sha256"`
	Records   []RedactedRecord `json:"records"`
	Files     []RedactedFile   `json:"files"`
	Crawl     string           `json:"crawl"`
	Dir       string           `json:"dir"`
	Taken     []int            `json:"taken"`
	Given     []int            `json:"given"`
	Members   []struct {
		Dir  string `json:"dir"`
		Name string `json:"name"`
	} `json:"members"`
	Asked  time.Time `json:"asked"`
	Server time.Time `json:"server"`
}

// ParseMark reads a line that is meant as a mark.
func ParseMark(line []byte) (*Mark, error) {
	var j markJSON
	if err := storage.CheckForm(line); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(line, append(append(slices.Clone(markStart), j.Mark...), '"')) {
		return nil, errors.New("its kind is written with escapes")
	}
	m := &Mark{Kind: j.Mark}
	if m.Kind == KindBegin {
		return m, m.readBegin(&j)
	}
	if j.Time == nil {
		return nil, errors.New("time is missing")
	}
	m.Time = *j.Time
	if !bytes.Contains(line, []byte(`"time":"`+m.Time.UTC().Format(timeForm)+`"`)) {
		return nil, errors.New("time is not of the form " + timeForm)
	}
	return m, m.read(&j)
}

func (m *Mark) readBegin(j *markJSON) error {
	m.Schema, m.Segment, m.Origin, m.Software = j.Schema, j.Segment, j.Origin, j.Software
	switch {
	case m.Schema > Schema:
		return nil // of which nothing else is known
	case m.Schema < Schema:
		return fmt.Errorf("schema %d is of an earlier version, and not read any more", m.Schema)
	case j.First == nil || j.Lines == nil || m.Segment < 0, *j.First < 0 || *j.First > maxIndex, *j.Lines < 0 || *j.Lines > maxIndex:
		return errors.New("first or lines is missing or invalid")
	case m.Origin == "" || len(m.Origin) > maxOrigin:
		return errors.New("origin is missing")
	}
	m.First, m.Lines = *j.First, *j.Lines
	return nil
}

const (
	maxOrigin = 400     // of the origin of a log, in bytes
	maxIndex  = 1 << 60 // of entries: more than anybody writes, and one can be added
)

func (m *Mark) read(j *markJSON) (err error) {
	switch m.Kind {
	case KindRun:
		m.Cut, m.Killed, m.Warcinfo, m.Settings, m.OptOuts, m.Key = j.Cut, j.Killed, j.Warcinfo, j.Settings, j.OptOuts, j.Key
		m.ClockBack = time.Duration(min(max(j.ClockBack, 0), int64(1<<62/time.Microsecond))) * time.Microsecond
		for _, d := range []string{m.Warcinfo, m.Settings, m.OptOuts} {
			if d != "" && !IsDigest(d) {
				return errors.New("one of its digests is invalid")
			}
		}
		if m.Key != "" {
			_, err = checkpoint.ParseKey(m.Key)
		}
	case KindHosts:
		if j.Size == nil || *j.Size < 0 || j.Hosts < 0 || j.Root == nil {
			return errors.New("size, hosts or root is missing")
		}
		m.Size, m.Hosts, m.Root = *j.Size, j.Hosts, *j.Root
	case KindFile:
		m.Name, m.Octets, m.SHA256 = j.Name, j.Octets, j.SHA256
		if m.Name == "" || !IsDigest(m.SHA256) {
			return errors.New("name or sha256 is missing")
		}
	case KindOptOuts:
		if m.SHA256 = j.SHA256; !IsDigest(m.SHA256) {
			return errors.New("sha256 is missing")
		}
		err = json.Unmarshal(j.Entries, &m.Entries)
	case KindKey:
		m.Note = j.Note
		m.Rotation, err = checkpoint.ParseRotation([]byte(j.Note))
	case KindRedaction:
		m.Redaction = &Redaction{Extent: j.Extent, Reason: j.Reason, Subject: j.Subject, Records: j.Records, Files: j.Files}
		if err := json.Unmarshal(j.Entries, &m.Redaction.Entries); err != nil {
			return fmt.Errorf("entries: %w", err)
		}
		return m.Redaction.check()
	case KindOperator:
		m.Operator = &Operator{Act: j.Act, About: j.About, URLs: j.URLs, Note: j.Note, Settings: j.Settings, Hosts: j.Whom,
			Delay: time.Duration(min(max(j.Delay, -1), int64(1<<62/time.Millisecond))) * time.Millisecond}
		return m.Operator.check()
	case KindFleet:
		m.Fleet = &Fleet{Crawl: j.Crawl, Dir: j.Dir, Taken: j.Taken, Given: j.Given, Members: map[string]string{}, Asked: j.Asked, Server: j.Server}
		for _, x := range j.Members {
			m.Fleet.Members[x.Dir] = x.Name
		}
		if m.Fleet.Crawl == "" || m.Fleet.Dir == "" || !inCentury(j.Asked) || !inCentury(j.Server) {
			return errors.New("crawl, dir, asked or server is missing")
		}
	case KindStop:
		if j.Lines == nil {
			return errors.New("lines is missing")
		}
		m.Lines = *j.Lines
	default:
		return fmt.Errorf("a mark %.80q is not known", m.Kind)
	}
	return err
}

// inCentury reports whether a time of a fleet mark is one that a computer of today may have.
func inCentury(t time.Time) bool { y := t.UTC().Year(); return 2000 <= y && y < 2100 }

// check refuses what is no redaction.
func (r *Redaction) check() error {
	if r.Extent != ExtentBodies && r.Extent != ExtentAll {
		return fmt.Errorf("a redaction of the extent %.80q is not known", r.Extent)
	}
	if !IsDigest(r.Subject) {
		return errors.New("subject_sha256 is missing")
	}
	for _, i := range r.Entries {
		if i < 0 {
			return fmt.Errorf("no entry %d", i)
		}
	}
	for _, f := range r.Files {
		if !IsDigest(f.SHA256) || !IsDigest(f.Before) {
			return fmt.Errorf("the digests of %.80q are missing", f.Name)
		}
	}
	return nil
}

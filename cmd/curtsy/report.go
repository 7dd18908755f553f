package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/export"
	"curtsy/frontier/durable"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
	reports "curtsy/storage/report"
)

type reportOptions struct {
	host, out string
	json      bool
	noAudit   bool
	alike     bool
	quiet     bool
}

func report(std cli.Streams) *cobra.Command {
	var o reportOptions
	cmd := cli.Command("report", cli.Flags{
		"host": &o.host, "output": &o.out, "no-audit": &o.noAudit, "duplicates": &o.alike, "json": &o.json, "quiet": &o.quiet,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return makeReport(cmd.Context(), args[0], o, std)
	}
	return cmd
}

func makeReport(ctx context.Context, dir string, o reportOptions, std cli.Streams) error {
	if err := mustHold(dir, crawldir.LedgerName); err != nil {
		return err
	}
	settings, remarks := changedSettings(filepath.Join(dir, crawldir.ConfigName))
	whole, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	ro := reports.Options{
		Dir: whole, Ledger: filepath.Join(dir, crawldir.LedgerName), WARC: filepath.Join(dir, crawldir.ArchiveName), Host: o.host,
		Software: "curtsy/" + crawldir.Version, Now: time.Now(), Settings: settings, Remarks: remarks,
	}
	times := int64(0)
	if !o.noAudit {
		ro.Audit, ro.Graph = auditFor(dir), true
		times = 2 // by the audit, and for the links between hosts
	}
	if o.alike {
		ro.Duplicates = func(ctx context.Context) (reports.Duplicates, error) { return duplicatesOf(ctx, dir) }
	}
	var r *reports.Report
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("report", "").Reads(times, ro.WARC), func(ctx context.Context) (err error) {
		r, err = reports.Make(ctx, ro)
		return err
	})
	switch {
	case errors.Is(err, reports.ErrNoHost):
		return cli.Usagef("%w; see the hosts with curtsy report %s", err, plainly.Argument(dir))
	case errors.Is(err, reports.ErrHost):
		return cli.Usagef("%w", err)
	case err != nil:
		return err
	}
	page, data, err := o.paths(dir, r.HostPort)
	if err != nil {
		return err
	}
	write := durable.File
	if o.out != "" {
		write = durable.Output // it may be a device
	}
	err = write(page, r.WriteHTML)
	if err == nil {
		err = write(data, r.WriteJSON)
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	fmt.Fprint(std.Err, text.Render("report", reportedText{r, page, data}))
	if o.json {
		return r.WriteJSON(std.Out)
	}
	return nil
}

// duplicatesOf finds the largest clusters of similar pages.
func duplicatesOf(ctx context.Context, dir string) (d reports.Duplicates, err error) {
	in, err := export.Open(ctx, "", dir)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	f, _, err := in.Duplicates(ctx, nil)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	largest, clusters, pages, err := f.Largest(ctx, 20, 3)
	d.Clusters, d.Pages = clusters, pages
	for _, c := range largest {
		d.Largest = append(d.Largest, reports.Cluster{URL: c.Representative, Pages: c.Size, Copies: c.Copies, Least: c.Least, Samples: c.Others})
	}
	return d, err
}

// paths returns where to write the page and its JSON form. They are about a host, or with "" the whole crawl.
func (o *reportOptions) paths(dir, host string) (page, data string, err error) {
	if o.out == "" {
		name := crawldir.ReportName
		if host != "" {
			name += "-" + fileWord(host)
		}
		return filepath.Join(dir, name+".html"), filepath.Join(dir, name+".json"), nil
	}
	ext := filepath.Ext(o.out)
	if strings.EqualFold(ext, ".json") {
		return "", "", cli.Usagef("-o %s: the page is HTML; the JSON form is always written as well", o.out)
	}
	data = strings.TrimSuffix(o.out, ext) + ".json"
	if fi, err := os.Stat(o.out); err == nil && fi.IsDir() {
		return "", "", cli.Usagef("-o %s: it is a directory; name a file in it", o.out)
	}
	made := userfile.Kind{Name: "a report", Mark: htmlpage.Mark("curtsy report"), Own: []string{crawldir.ReportName + ".html"}}
	if err := cli.MayWrite("-o", o.out, made); err != nil {
		return "", "", err
	}
	made.Mark, made.Own = `"software": "curtsy/`, []string{crawldir.ReportName + ".json"}
	return o.out, data, cli.MayWrite("-o", data, made)
}

// fileWord makes a host part of a file name.
func fileWord(host string) string {
	host = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r > 0x7f:
			return r
		}
		return '-'
	}, host)
	return strings.Trim(host, "-.")
}

// changedSettings returns the settings of a crawl that differ from the default, except the operator's identity, and
// remarks on settings that it cannot read.
func changedSettings(path string) (changed []reports.Setting, remarks []string) {
	l, err := config.ReadLayer(path, false)
	if err != nil {
		return nil, []string{"The settings of the crawl cannot be read: " + plainly.Lines(err.Error())}
	}
	var s crawldir.Settings
	flags := pflag.NewFlagSet("report", pflag.ContinueOnError)
	config.Flags(&s, flags)
	for _, name := range crawldir.Names() {
		given, ok, err := l.Texts(name)
		if !ok || slices.Contains(config.Identity, name) && name != "agent" {
			continue
		}
		f := flags.Lookup(name)
		before := f.Value.String()
		if err == nil {
			err = crawldir.Assign(f, given...)
		}
		if err != nil {
			remarks = append(remarks, fmt.Sprintf("The setting %s cannot be read: %s", name, plainly.OneLine(err.Error())))
			continue
		}
		if now := f.Value.String(); now != before {
			changed = append(changed, reports.Setting{Name: name, Value: unbracketed(now), Default: unbracketed(before)})
		}
	}
	return changed, remarks
}

// unbracketed strips the brackets of a list from a setting.
func unbracketed(s string) string {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return plainly.OneLine(s[1 : len(s)-1])
	}
	return plainly.OneLine(s)
}

type reportedText struct {
	*reports.Report
	Page, Data string // files
}

func (t reportedText) Shortest() string { return plainly.Seconds(t.Totals.LeastMs / 1000) }

// auditFor returns an audit of a crawl's archive and ledger for its report.
func auditFor(dir string) func(context.Context) (reports.Audit, error) {
	return func(ctx context.Context) (reports.Audit, error) {
		files, ledgerDir, err := archiveAt(dir)
		if err != nil {
			return reports.Audit{}, err
		}
		if ledgerDir == "" || len(files) == 0 { // no archive: any WARC files in dir are others
			return reports.Audit{}, audit.ErrNothing
		}
		o := reconcile.Options{Dir: ledgerDir}
		besideFiles(&o, files)
		book, err := reconcile.Open(ctx, o)
		if err != nil {
			return reports.Audit{}, err
		}
		witnesses := []audit.Witness{book, audit.NotRead(filepath.Dir(files[0]), files)}
		r, err := audit.Run(ctx, audit.Options{Ours: true, Files: files, Limit: 5, Witnesses: witnesses})
		if err != nil {
			return reports.Audit{}, err
		}
		return auditTold(r), nil
	}
}

func auditTold(r *audit.Result) reports.Audit {
	a := reports.Audit{Level: string(r.Level), Clean: r.Clean, Violations: r.Totals.Violations, Unprovable: r.Totals.Unprovable, CannotShow: r.CannotShow}
	for _, c := range r.Counts {
		words := c.Code.Words()
		meaning := strings.ToUpper(words[:1]) + words[1:] + "."
		f := reports.AuditFinding{Code: string(c.Code), Meaning: meaning, Count: c.Found, Violation: c.Found > c.Notes}
		for i := range r.Findings {
			if found := &r.Findings[i]; found.Code == c.Code && len(f.Samples) < 3 {
				f.Samples = append(f.Samples, findingSample(found))
			}
		}
		a.Findings = append(a.Findings, f)
	}
	return a
}

func findingSample(f *finding.Finding) string {
	what := cmp.Or(f.URL, f.Authority)
	if what != "" {
		what += ": "
	}
	return what + f.Observed + "; required: " + f.Required
}

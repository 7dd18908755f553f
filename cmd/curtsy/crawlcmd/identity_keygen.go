package crawlcmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// publishing is what identity keygen is told beside the settings.
type publishing struct {
	to    string
	valid crawldir.Duration
	nginx bool
}

func newKeygen(std cli.Streams) *cobra.Command {
	s := crawldir.Defaults()
	o := publishing{valid: crawldir.Duration(webbotauth.DefaultDirectoryLife)}
	cmd := cli.Command("identity keygen")
	cmd.Args = cli.NoArgs
	fs := cmd.Flags()
	config.SignatureFlags(&s, fs)
	fs.StringVarP(&o.to, "output", "o", "", "`FILE` write the key directory to this file")
	fs.Var(&o.valid, "valid", "`TIME` validity of the directory's signature")
	fs.BoolVar(&o.nginx, "nginx", false, "print the header fields as an nginx location")
	cli.Group(fs, "Key directory")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]string{}
		for _, name := range config.SignatureNames() {
			if f := fs.Lookup(name); f.Changed {
				given[name] = f.Value.String()
			}
		}
		if err := config.Resolve(&s, fs, "", ""); err != nil {
			return err
		}
		if s.SignatureAgent == "" {
			return cli.Usagef("where will the key be published? give --signature-agent https://crawl.your-domain.org")
		}
		return o.run(&s, given, std)
	}
	return cmd
}

// run makes the key first: there is one for all that can be asked for, and it is never made twice.
func (o *publishing) run(s *crawldir.Settings, given map[string]string, std cli.Streams) error {
	if o.nginx && o.to == "" {
		return cli.Usagef("--nginx prints how to serve the file that -o names: give -o FILE")
	}
	if err := cli.MayWrite("--output", o.to, userfile.Kind{Name: "a key directory", Mark: webbotauth.Mark}); err != nil {
		return err
	}
	agent, err := webbotauth.ParseAgent(s.SignatureAgent)
	if err != nil {
		return cli.Usagef("--signature-agent: %w", err)
	}
	key, err := crawldir.MakeBotKey()
	if err != nil {
		return err
	}
	signer, err := webbotauth.New(key, agent, s.SignatureDraft, s.SignatureLife)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	now, valid := time.Now(), time.Duration(o.valid)
	publication, err := webbotauth.Publish(key, agent, s.SignatureDraft, now, valid)
	if err != nil {
		return cli.Usagef("--valid: %w", err)
	}
	if len(given) > 0 {
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		if err := setKeys(path, given); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "kept in %s; requests of crawls that begin from now on are signed\n", path)
	}
	if o.to == "" {
		_, err := fmt.Fprintf(std.Out, "%skeyid: %s\n", strings.ReplaceAll(signer.AgentField(), "\r\n", "\n"), key.ID())
		return err
	}
	if err := durable.WriteFile(o.to, publication.Body, 0o666); err != nil {
		return fmt.Errorf("key directory: %w", err)
	}
	fmt.Fprintf(std.Err, "Publish %s, unchanged and with the fields below, at\n  %s\nand write it again before %s:\n",
		plainly.Argument(o.to), publication.URL, now.Add(valid).UTC().Format("2 January 2006"))
	return writeFields(std.Out, publication, o.nginx)
}

// writeFields writes the header fields of a key directory, or how nginx is told of them: the file has no ending that
// tells the type, and a coding would change what the digest is over.
func writeFields(w io.Writer, p webbotauth.Publication, nginx bool) error {
	var b strings.Builder
	if nginx {
		fmt.Fprintf(&b, "location = %s {\n    types { }\n    default_type %s;\n    gzip off;\n", p.Path, webbotauth.MediaType)
	}
	for _, f := range p.Fields {
		switch {
		case !nginx:
			fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
		case f.Name != "Content-Type":
			fmt.Fprintf(&b, "    add_header %s '%s';\n", f.Name, f.Value)
		}
	}
	if nginx {
		b.WriteString("}\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

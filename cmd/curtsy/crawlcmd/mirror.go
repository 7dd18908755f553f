package crawlcmd

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
)

// mirrorDefaults are the settings that a mirror has otherwise than a crawl, unless the user says something else.
var mirrorDefaults = map[string]string{"scope": "prefix", "page-requisites": "all,script", "max-body": "1GiB"}

func NewMirror(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := options{planning: planningDefaults()}
	cmd := cli.Command("mirror")
	cmd.Long += "\n\n" + config.Scopes
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	o.placeFlags(fs)
	config.Flags(&s, fs)
	o.flags(fs)
	cli.Often(fs, "page-requisites", "vanished", "layout", "cut-dirs")
	for name, value := range mirrorDefaults {
		setDefault(fs.Lookup(name), value)
	}
	is := fs.Lookup("mirror")
	setDefault(is, "true")
	is.Usage = "write the copy at the end of each run; with false, only curtsy mirror rebuild\nwrites it"
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		if is.Changed && s.Mirror {
			return cli.Usagef("--mirror is the default here; --mirror=false leaves the copy to curtsy mirror rebuild")
		}
		is.Changed = true // whatever a file of settings says: that is what the command is for
		return crawl(cmd.Context(), fs, &s, &o, World{}, args, std)
	})
	cmd.AddCommand(newServe(std), newMirrorCheck(std), newRebuild(std))
	return cmd
}

// ownRequisites limits the requisites of a mirror to the hosts of its seeds if these are loopback and no contact is set: any
// other host must learn whom to ask about the crawler. The summary names what pages lack because of that.
func ownRequisites(s *crawldir.Settings, flags *pflag.FlagSet, seeds []frontier.Candidate) {
	if f := flags.Lookup("page-requisites"); s.Requisites == "script" && f.DefValue == mirrorDefaults["page-requisites"] {
		s.Requisites = f.DefValue
	}
	foreign := slices.ContainsFunc(seeds, func(c frontier.Candidate) bool { return !c.URL.Authority().Loopback() })
	id := s.Identity()
	which, scripts := scope.SplitRequisites(s.Requisites)
	if !s.Mirror || which != scope.RequisitesAll || foreign || id.CheckContact() == nil {
		return
	}
	s.Requisites = scope.RequisitesHost
	if scripts {
		s.Requisites += ",script"
	}
}

// setDefault gives a flag another default. The value is one of ours.
func setDefault(f *pflag.Flag, value string) {
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
	f.DefValue = value
}

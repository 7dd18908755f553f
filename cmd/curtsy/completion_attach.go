package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
)

const (
	offerFiles = cobra.ShellCompDirectiveDefault // the shell offers files
	nothing    = cobra.ShellCompDirectiveNoFileComp
	wordGoesOn = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // more of the same word follows
)

// completionAsked reports whether a command line comes from a shell that completes.
func completionAsked(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// attach has cmd, and all commands below it, complete their arguments and flags. Cobra keeps what completes flags, and
// the commands with it, as long as the process lives: only a process that is Asked may need it.
func attach(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := ofFlag(f); complete != nil {
			// The error says that there is a function already, or no such flag.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
		}
	})
	switch {
	case cmd.Name() == "help":
		cmd.ValidArgsFunction = commandsOffered
	case cmd.ValidArgsFunction == nil:
		cmd.ValidArgsFunction = ofArgs(cmd)
	}
	for _, sub := range cmd.Commands() {
		attach(sub)
	}
}

// A kind is what an argument may be.
type kind int

const (
	other       kind = iota // known to the user only
	file                    // a file name, which the shell completes
	crawlWord               // a crawl directory
	hostWord                // a host of the crawl in the first argument
	urlWord                 // a URL of that crawl
	commandWord             // the command of another program
)

// kindsOfWords maps the placeholders of usage lines and flags to what completes them.
var kindsOfWords = map[string]kind{
	"DIR": crawlWord, "PATH": file, "FILE": file, "WARC": file, "FOLDER": file, "CDXJ": file, "A": file, "B": file, "OLD": file, "NEW": file,
	"CONFIG": file, "[HOST=]FILE": file, "FILE|KEY": file, "FILE|SIZE:HEX": file, "KEY": file,
	"HOST": hostWord, "NAME": hostWord, "ENTRY": hostWord, "URL": urlWord, "COMMAND": commandWord,
}

// noArgument is what stands in usage lines and is no argument.
var noArgument = regexp.MustCompile(`\[(flags|-[^\]]*)\]|\([^)]*\)| -- `)

// takes are the kinds of each argument of a usage line, and whether the last may be repeated. Alternatives stand in one.
func takes(use string) (args [][]kind, again bool) {
	for _, w := range strings.Fields(noArgument.ReplaceAllString(use, " "))[1:] {
		w = strings.Trim(w, "[]")
		bare := strings.TrimSuffix(strings.TrimSuffix(w, "…"), "...")
		again = bare != w
		var ks []kind
		for _, name := range strings.Split(bare, "|") {
			ks = append(ks, kindsOfWords[name])
		}
		args = append(args, ks)
	}
	return args, again
}

// ofArgs completes the arguments of a command by its usage line.
func ofArgs(cmd *cobra.Command) cobra.CompletionFunc {
	args, again := takes(cmd.Use)
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		n := len(given)
		if again && n >= len(args) {
			n = len(args) - 1
		}
		if n >= len(args) {
			return nil, nothing
		}
		return offer(cmd, args[n], given, begun)
	}
}

// offer is what completes a word that may be of some kinds.
func offer(cmd *cobra.Command, ks []kind, given []string, begun string) (all []string, then cobra.ShellCompDirective) {
	then = nothing
	for _, k := range ks {
		switch k {
		case crawlWord:
			all, then = append(all, crawls(begun)...), offerFiles
		case file, commandWord:
			then = offerFiles
		case hostWord:
			if len(given) > 0 {
				all = append(all, hosts(cmd.Context(), given[0], control.Names{Beginning: begun, Most: mostHosts})...)
			}
		case urlWord:
			if len(given) > 0 && (len(ks) == 1 || strings.Contains(begun, "://")) {
				for _, origin := range hosts(cmd.Context(), given[0], control.Names{Beginning: begun, Origins: true, Most: mostHosts}) {
					all, then = append(all, origin+"/"), wordGoesOn
				}
			}
		}
	}
	return all, then
}

// ofFlag completes what a flag takes; nil where it takes nothing.
func ofFlag(f *pflag.Flag) cobra.CompletionFunc {
	if words := cli.WordsOf(f); words != nil {
		return ofWords(words, f.Value.Type() == "stringSlice")
	}
	what, _ := pflag.UnquoteUsage(f)
	k := kindsOfWords[what]
	switch {
	case f.NoOptDefVal != "":
		return nil
	case k == crawlWord: // to be made, but for few
		k = file
	case k == hostWord && f.Name != "host", k == urlWord: // a name of something else, or a URL that is elsewhere
		k = other
	}
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		return offer(cmd, []kind{k}, given, begun)
	}
}

// ofWords completes words, or beginnings of words, each in turn in a list.
func ofWords(words []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (all []string, then cobra.ShellCompDirective) {
		then = nothing
		before, last := "", begun
		if at := strings.LastIndexByte(begun, ','); list && at >= 0 {
			before, last = begun[:at+1], begun[at+1:]
		}
		for _, w := range words {
			if strings.HasPrefix(w, last) && !strings.Contains(","+before, ","+w+",") {
				all = append(all, before+w)
				if list || strings.ContainsAny(w[len(w)-1:], "=:<>") {
					then = wordGoesOn
				}
			}
		}
		return all, then
	}
}

// commandsOffered completes the names of commands, for help.
func commandsOffered(cmd *cobra.Command, given []string, begun string) (all []string, then cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(given)
	if err != nil || len(rest) > 0 {
		return nil, nothing
	}
	for _, c := range about.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
			all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return all, nothing
}

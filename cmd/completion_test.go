package cmd_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for shell, has := range map[string]string{
		"bash": "complete -o default", "zsh": "#compdef prospector", "fish": "complete -c prospector", "powershell": "Register-ArgumentCompleter -CommandName 'prospector'",
	} {
		if script := p.run("completion", shell).ok().stdout; !strings.Contains(script, has) || !strings.Contains(script, "__complete") {
			t.Errorf("the script for %s is %.500s", shell, script)
		}
	}
	p.run("completion", "tcsh").fails(2, `"tcsh" is not one of: bash, zsh, fish, powershell`)
	p.run("completion").fails(2, "completion requires one argument: bash, zsh, fish or powershell")
	p.run("completion", "bash", "zsh").fails(2, "completion requires one argument")
	if help := p.run("completion", "--help").ok().stdout; !strings.Contains(help, "source <(prospector completion bash)") {
		t.Errorf("the help does not explain how to use it: %s", help)
	}
}

// initCompletion replaces the first step of bash-completion where it is not installed.
const initCompletion = `_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; COMPREPLY=(); }
`

// TestCompletion lets a shell complete lines as it does when the tab key is pressed.
func TestCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("this system has no bash")
	}
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.run("org", "create", "--name", "Beta").ok()
		d.write("script", d.run("completion", "bash").ok().stdout)
		if out, err := exec.Command(bash, "-n", d.path("script")).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("bash rejects the script: %v: %s", err, out)
		}
		for _, c := range []struct {
			words []string // the last word is completed
			want  []string
		}{
			{[]string{"imp"}, []string{"import"}},
			{[]string{"import", ""}, []string{"accounts", "contacts", "suppressions"}},
			{[]string{"import", "contacts", "--ma"}, []string{"--map", "--match-on"}},
			{[]string{"re"}, []string{"reindex", "restore", "resume"}},
			{[]string{"org", "del"}, []string{"delete"}},
			{[]string{"org", "export", "--org", ""}, []string{"Acme", "Beta"}},
			{[]string{"org", "delete", "--org", "Be"}, []string{"Beta"}},
			{[]string{"key", "create", "--access", ""}, []string{"admin", "read", "write"}},
			{[]string{"completion", ""}, []string{"bash", "fish", "powershell", "zsh"}},
			{[]string{"help", "im"}, []string{"import"}},
			{[]string{"frobnicate", ""}, nil},
		} {
			line := "COMP_WORDS=(prospector"
			for _, word := range c.words {
				line += " '" + word + "'"
			}
			line += "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=\"${COMP_WORDS[*]}\"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9\n"
			shell := d.command()
			shell.Path, shell.Args = bash, []string{"bash", "--norc", "-c", initCompletion + "source ./script\n" + line + "__start_prospector 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\""}
			shell.Env = append(shell.Env, "PATH="+filepath.Dir(binary)+":/usr/bin:/bin")
			var stderr bytes.Buffer
			shell.Stderr = &stderr
			out, err := shell.Output()
			var got []string
			for reply := range strings.Lines(string(out)) {
				name, _, _ := strings.Cut(strings.TrimSpace(reply), " ")
				if name != "" {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if err != nil || stderr.Len() > 0 || !slices.Equal(got, c.want) {
				t.Errorf("%q is completed as %q, want %q (%v, %s)", c.words, got, c.want, err, &stderr)
			}
		}
	})
}

// TestCompletionWithoutStore checks that completion without a store suggests nothing and creates
// nothing.
func TestCompletionWithoutStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.run("__complete", "org", "export", "--org", "")
	if r.status != 0 || strings.Contains(r.stdout, "Acme") {
		t.Errorf("%+v", r)
	}
	if made, err := filepath.Glob(p.path("*")); err != nil || len(made) > 0 {
		t.Errorf("completion created %v (%v)", made, err)
	}
}

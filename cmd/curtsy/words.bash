
# Where the package bash-completion is not loaded: the words of the line, those joined again that bash takes apart at a
# colon or an equals sign.
__curtsy_init_completion()
{
    local line=$COMP_LINE i word
    words=() cword=0
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[${#words[@]}-1]+=$word
        else
            line=${line#"${line%%[![:space:]]*}"}
            words+=("$word")
        fi
        line=${line#"$word"}
        if ((i == COMP_CWORD)); then
            cword=$((${#words[@]} - 1))
        fi
    done
    cur=${words[cword]}
    prev=
    if ((cword > 0)); then
        prev=${words[cword-1]}
    fi
    COMPREPLY=()
}

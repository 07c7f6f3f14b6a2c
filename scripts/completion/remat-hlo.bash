# bash completion for remat-hlo(1): everything comes from the tool's own tables.

# Completes the value of an option; fails where it is none of a list. The part behind the last comma is completed,
# as several options take several words.
_remat_hlo_values() {
  local option=$1 cur=$2 done= values
  values=$("$tool" list --values="$option" 2>/dev/null) && [[ $values ]] || return 1
  [[ $cur == *,* ]] && done=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$done" -W "$values" -- "${cur##*,}")
  [[ $cur == *,* || ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

_remat_hlo() {
  local tool=${COMP_WORDS[0]} cur prev words cword command=remat
  COMPREPLY=()
  _get_comp_words_by_ref -n = cur prev words cword 2>/dev/null || {
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cword=$COMP_CWORD
    words=("${COMP_WORDS[@]}")
    # Without the bash-completion package, `--name=value` comes as three words.
    [[ $cur == "=" ]] && cur= || { [[ $prev == "=" ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}; }
  }
  local commands
  commands=$("$tool" list --names=commands 2>/dev/null)
  [[ $cword -gt 1 && " ${commands//$'\n'/ } " == *" ${words[1]} "* ]] && command=${words[1]}

  if [[ $cur == --*=* ]]; then
    _remat_hlo_values "${cur%%=*}" "${cur#*=}" || mapfile -t COMPREPLY < <(compgen -f -- "${cur#*=}")
  elif [[ $prev == -* ]] && _remat_hlo_values "$prev" "$cur"; then
    :
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$tool" list --options="$command" 2>/dev/null)" -- "$cur")
    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    [[ $cword -eq 1 ]] && COMPREPLY+=($(compgen -W "$commands" -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}

complete -F _remat_hlo remat-hlo

#compdef remat-hlo
# zsh completion for remat-hlo(1): everything comes from the tool's own tables.

# Completes the value of an option; fails where it is none of a list. The part behind the last comma is completed,
# as several options take several words.
_remat_hlo_values() {
  local -a values
  values=(${(f)"$($tool list --values=$1 2>/dev/null)"})
  (( $#values )) || return 1
  compset -P '*,'
  compadd -S '' -- ${(M)values:#*=} || compadd -- ${values:#*=}
}

_remat-hlo() {
  local tool=${~words[1]} cur=${words[CURRENT]} previous=${words[CURRENT-1]} command=remat tab=$'\t'
  local -a commands options
  commands=(${(f)"$($tool list --names=commands --describe 2>/dev/null)"})
  (( CURRENT > 2 )) && [[ -n ${(M)commands:#${words[2]}$tab*} ]] && command=${words[2]}

  if [[ $cur == --*=* ]]; then
    compset -P '*='
    _remat_hlo_values ${cur%%=*} || _files
  elif [[ $previous == -* && $previous != *=* ]] && _remat_hlo_values $previous; then
    return 0
  elif [[ $cur == -* ]]; then
    # `name:description`, as _describe wants it; after `name=` comes the value at once.
    options=(${(f)"$($tool list --options=$command --describe 2>/dev/null)"})
    options=(${options/$tab/:})
    _describe -o option options -S '' -- 2>/dev/null
  else
    commands=(${commands/$tab/:})
    (( CURRENT == 2 )) && _describe command commands
    _files
  fi
}

_remat-hlo "$@"

verify one_element.hlo one_element_reshaped.hlo
